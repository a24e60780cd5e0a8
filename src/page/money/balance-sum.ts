import { amount, movement, netMovement } from "../format.ts";
import { type Html, html } from "../html.ts";
import type { PageSelection } from "../selection.ts";
import { type BillPiece, billsAddress, linked } from "./bill-links.ts";
import type { Judged } from "./judged.ts";
import { movedBy, resultGroup } from "./line-groups.ts";
import { lines } from "./lines.ts";
import { figureOf } from "./parts.ts";
import { isZero } from "./stretches.ts";
import type { Stretch } from "./wallet-days.ts";

/**
 * How the result leads from the opening balance to the closing one: with everything that is no
 * result, such as transfers, each by its name.
 */
export function balanceSum(whole: Stretch, judged: Judged, selection: PageSelection): Html {
  const { moved } = whole;
  const others = lines.filter(({ name, isResult }) => !isResult && !isZero(moved[name]));
  const isUnknown = judged.state === "never" && isZero(moved.difference);
  const part = (title: string, figure: Html, piece: BillPiece["name"]) =>
    html`, ${title} ${linked(figure, billsAddress(selection, { pieces: [piece] }))}`;
  return html`<p class="note" id="balance-sum">Opening ${amount(whole.opening, selection)} on ${whole.from}${part(
    "result",
    netMovement(movedBy(whole, resultGroup), selection),
    resultGroup.name,
  )}${others.map((line) => part(line.title, figureOf(line, moved[line.name], selection), line.name))}${
    isUnknown ? html`, unexplained ${movement(null, selection)}` : ""
  }, closing ${amount(whole.closing, selection)} ${selection.coin}.</p>`;
}
