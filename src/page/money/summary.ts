import { isoTime } from "../../contract/time.ts";
import { formatCounted } from "../../terminal/format.ts";
import { netMovement } from "../format.ts";
import { type Html, html, joined } from "../html.ts";
import { chip, icon } from "../icons.ts";
import type { WalletContext } from "../section.ts";
import { walletText } from "../selection.ts";
import { balanceSum } from "./balance-sum.ts";
import { billsAddress, linked } from "./bill-links.ts";
import { judgedOf } from "./judged.ts";
import { earningColumns, linesOf, movedBy, resultGroup } from "./line-groups.ts";
import { othersOf } from "./other-coins.ts";
import { offNote, offOf, unreadDays } from "./parts.ts";
import { emptyNote, firstDayNote, tooOldNote } from "./span.ts";
import { isZero, together } from "./stretches.ts";
import { unmappedNote } from "./unmapped.ts";
import { unreadIn, walletReadings } from "./unread-wallets.ts";
import { walletDays } from "./wallet-days.ts";

/** What the selected days earned, in one sentence, with what it cannot know. */
export async function summaryOf(context: WalletContext): Promise<Html> {
  const { selection, now } = context;
  const { product, coin, from, to } = selection;
  const days = await walletDays(context);
  const whole = together(days);
  const readings = await walletReadings(context);
  const unread = unreadIn(context, readings, product, unreadDays(days, now));
  const unreadNote = (text: string) =>
    unread === 0
      ? ""
      : html`<p class="not-read">${icon("warn")} ${formatCounted(unread, "day")} not all read${text}.</p>`;
  if (whole === undefined) {
    return html`${await emptyNote(context)}${unreadNote("")}${await othersOf(context)}${await tooOldNote(context)}`;
  }
  const today = isoTime(now).slice(0, 10);
  const figure = (piece: (typeof earningColumns)[number]) =>
    html`<strong>${linked(netMovement(movedBy(whole, piece), selection), billsAddress(selection, { pieces: [piece.name] }))}</strong>`;
  const parts = earningColumns
    .filter((piece) => linesOf(piece).some(({ name }) => !isZero(whole.moved[name])))
    .map(
      (piece) => html`${piece.name === "realised_pnl" ? "profit" : piece.title} ${figure(piece)}`,
    );
  const off = offOf(days);
  return html`<p class="summary"><b>${walletText(selection)}</b>, ${from === to ? from : `${from} to ${to}`}${to >= today ? " so far" : ""}:
result ${figure(resultGroup)} ${coin}${parts.length === 0 ? "" : html`: ${joined(parts, ", ")}`}.${
    isDemo(context) ? html` ${chip("none", "demo trading, not money")}` : ""
  }</p>
${balanceSum(whole, await judgedOf(context, whole), selection)}
${await firstDayNote(context)}${await othersOf(context)}
${unreadNote(": these figures and the files may lack bills")}
${off.days === 0 ? "" : html`<p>${offNote(off, selection)}. These figures and the files lack what explains it.</p>`}
${await tooOldNote(context)}${unmappedNote(days, selection)}`;
}

const isDemo = ({ wallets, selection }: WalletContext): boolean =>
  wallets.some((wallet) => wallet.isDemo && wallet.product === selection.product);
