import { printable } from "../printable.ts";

/** Markup that this program wrote. Only {@link html} makes it, and {@link joined}. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** What may stand in a template: text is escaped, markup is not, and undefined is nothing. */
export type HtmlPart = Html | string | number | undefined | readonly HtmlPart[];

/**
 * Markup with everything in it escaped that is not {@link Html} itself. Attributes are written in
 * quotes: a test looks for those that are not.
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

/** Text as HTML shows it, with controls and marks that turn text round spelled out. */
export const escaped = (text: string): string => (plain.test(text) ? text : spelled(text));

// Most of a page is figures and addresses: nothing of them is to be escaped.
const plain = /^[\w .,:;/?=+#()-]*$/;

const spelled = (text: string): string =>
  printable(text.toWellFormed()).replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? sign);
