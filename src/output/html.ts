import { printable } from "../lib/printable.ts";

/** Markup that this program wrote. Only {@link html} and {@link joined} make it. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** What a template may contain. Text is escaped, markup is not, and undefined is left out. */
export type HtmlPart = Html | string | number | undefined | readonly HtmlPart[];

/**
 * Makes markup and escapes every part that is not {@link Html}. Attributes must be in quotes: a
 * test finds any that are not.
 */
export const html = (strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html =>
  new Html(
    strings
      .map((text, place) => (place < parts.length ? text + markupOf(parts[place]) : text))
      .join(""),
  );

/** Parts with markup between them. */
export const joined = (parts: readonly HtmlPart[], between: HtmlPart): Html =>
  new Html(parts.map(markupOf).join(markupOf(between)));

function markupOf(part: HtmlPart): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map(markupOf).join("");
  return escaped(String(part));
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for HTML. Control characters and marks that reverse text are spelled out. */
const escaped = (text: string): string => (plain.test(text) ? text : spelled(text));

// Most of a page is figures and addresses, which need no escaping: this test skips the work.
const plain = /^[\w .,:;/?=+#()-]*$/;

const spelled = (text: string): string =>
  printable(text.toWellFormed()).replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? sign);
