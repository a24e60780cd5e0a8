import { type Html, html, joined } from "./html.ts";
import { icon } from "./icons.ts";
import { isDay, isShownDay, type PageSelection, walletText } from "./selection.ts";

/** Something that an address asks for and that does not exist. */
export type Missed = {
  readonly name: "account" | "product" | "coin" | "from" | "to" | "by";
  /** As the address has it. */
  readonly asked: string;
};

/** What the selection shows something else for. */
export function missedOf(query: URLSearchParams, selection: PageSelection): readonly Missed[] {
  return (["account", "product", "coin", "from", "to", "by"] as const).flatMap((name) => {
    const asked = query.get(name) ?? "";
    const isThere =
      name === "from" || name === "to" ? isShownDay(asked) : asked === selection[name];
    return asked === "" || isThere ? [] : [{ name, asked }];
  });
}

/** Says what is shown instead of what does not exist; empty if all exists. */
export const missedNote = (missed: readonly Missed[], selection: PageSelection): Html => {
  const { from, to } = selection;
  if (missed.length === 0) return html``;
  // Whoever chooses another wallet still has the coin of the one before: that is no mistake.
  const isMistake = missed.some(({ name }) => name !== "coin");
  return html`<p class="${isMistake ? "not-read" : "note"}">${isMistake ? icon("warn") : ""} This is ${walletText(selection)}, ${from} to ${to}: ${joined(missed.map(missedText), ", and ")}.</p>`;
};

function missedText({ name, asked }: Missed): Html {
  switch (name) {
    case "from":
    case "to":
      return isDay(asked)
        ? html`“${asked}” is further away than the page goes`
        : html`“${asked}” is no day`;
    case "by":
      return html`rows are by day or by month, not by “${asked}”`;
    case "account":
    case "product":
    case "coin":
      return html`there is no ${name} “${asked}” here`;
    default:
      return name satisfies never;
  }
}
