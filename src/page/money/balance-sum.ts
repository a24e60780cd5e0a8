import { amount, movement, netMovement } from "../format.ts";
import { type Html, html } from "../html.ts";
import type { WalletContext } from "../section.ts";
import { billsAddress, linked } from "./bill-links.ts";
import { judgedOf } from "./judged.ts";
import { resultGroup } from "./line-groups.ts";
import { lines } from "./lines.ts";
import { isZero, resultOf, together } from "./stretches.ts";
import { walletDays } from "./wallet-days.ts";

/**
 * How the result leads from the opening balance to the closing one: with everything that is no
 * result, such as transfers, each by its name.
 */
export async function balanceSum(context: WalletContext): Promise<Html> {
  const { selection } = context;
  const whole = together(await walletDays(context));
  if (whole === undefined) return html``;
  const { state } = await judgedOf(context, whole);
  const others = lines.filter(({ name, isResult }) => !isResult && !isZero(whole.moved[name]));
  const isUnknown = state === "never" && isZero(whole.moved.difference);
  const partOf = (title: string, figure: Html) => html`, ${title} ${figure}`;
  return html`<p class="note" id="balance-sum">From ${whole.from} to ${whole.to}: opening ${amount(whole.opening, selection)}${partOf(
    "result",
    linked(
      netMovement(resultOf(whole), selection),
      billsAddress(selection, { pieces: [resultGroup.name] }),
    ),
  )}${others.map(({ name, title }) =>
    partOf(
      title,
      linked(movement(whole.moved[name], selection), billsAddress(selection, { pieces: [name] })),
    ),
  )}${isUnknown ? partOf("unexplained", movement(null, selection)) : ""}, closing ${amount(whole.closing, selection)} ${selection.coin}. <a href="#bridge">Line by line</a></p>`;
}
