import { type Html, html, joined } from "./html.ts";
import { icon } from "./icons.ts";
import { isDay, type PageSelection, walletText } from "./selection.ts";

/** Something that an address asks for and that does not exist. */
export type Missed = {
  readonly name: "account" | "product" | "coin" | "from" | "to";
  /** As the address has it. */
  readonly asked: string;
};

/** What the selection shows something else for. */
export function missedOf(query: URLSearchParams, selection: PageSelection): readonly Missed[] {
  return (["account", "product", "coin", "from", "to"] as const).flatMap((name) => {
    const asked = query.get(name) ?? "";
    const isThere = name === "from" || name === "to" ? isDay(asked) : asked === selection[name];
    return asked === "" || isThere ? [] : [{ name, asked }];
  });
}

/** Says what is shown instead of what does not exist; empty if all exists. */
export const missedNote = (missed: readonly Missed[], selection: PageSelection): Html => {
  const { from, to } = selection;
  return missed.length === 0
    ? html``
    : html`<p class="not-read">${icon("warn")} This is ${walletText(selection)}, ${from} to ${to}: ${joined(missed.map(missedText), ", and ")}.</p>`;
};

const missedText = ({ name, asked }: Missed): Html =>
  name === "from" || name === "to"
    ? html`“${asked}” is no day`
    : html`there is no ${name} “${asked}” here`;
