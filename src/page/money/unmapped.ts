import { netMovement } from "../format.ts";
import { type Html, html } from "../html.ts";
import { icon } from "../icons.ts";
import type { PageSelection } from "../selection.ts";
import { billsAddress, linked } from "./bill-links.ts";
import { isZero, sumOf } from "./stretches.ts";
import type { Stretch } from "./wallet-days.ts";

/** Says what bills of unmapped types moved, which is in no result, and how to map them; empty if nothing. */
export function unmappedNote(days: readonly Stretch[], selection: PageSelection): Html {
  const moved = days.map((day) => day.moved.unmapped);
  if (moved.every(isZero)) return html``;
  const address = billsAddress(selection, { pieces: ["unmapped"] });
  return html`<p class="not-read" id="unmapped">${icon("warn")} Bills of unmapped types moved ${linked(netMovement(sumOf(moved), selection), address)} ${selection.coin}, and are in no result. <code>npm run types</code> lists the types; <code>npm run types -- set</code> says what they are.</p>`;
}
