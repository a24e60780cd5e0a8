import { decimalOf, decimalText, subtract } from "../../export/decimal.ts";
import { formatCount, formatCounted } from "../../terminal/format.ts";
import { netMovement } from "../format.ts";
import { type Html, html } from "../html.ts";
import { icon } from "../icons.ts";
import type { BillFilter } from "../money/bill-links.ts";
import { isZero, sumOf } from "../money/stretches.ts";
import { walletDays } from "../money/wallet-days.ts";
import type { WalletContext } from "../section.ts";
import type { BillList } from "./listed-bills.ts";
import { type BillSum, sumOfBills } from "./sum-of-bills.ts";

// A figure comes from stored days, and its bills are read anew: they differ where somebody changed
// bills by hand.

// Adding up more would make the page slow: 100,000 take 0.2 s.
const addedMax = 100_000;

/**
 * What the figure's bills add up to. Undefined if they are too many to add up, or if the figure has
 * no bills.
 */
export async function sumToCheck(
  context: WalletContext,
  filter: BillFilter,
  { list: { bills, next }, isFirst }: { readonly list: BillList; readonly isFirst: boolean },
): Promise<BillSum | undefined> {
  if (filter.pieces.some(({ name }) => name === "closed_out")) return undefined;
  if (isFirst && next === undefined) {
    const parts = bills.map(({ part }) => part);
    return { bills: parts.length, idle: parts.filter(isZero).length, sum: sumOf(parts) };
  }
  const days = await walletDays(context);
  return days.reduce((sum, day) => sum + day.bills, 0) > addedMax
    ? undefined
    : await sumOfBills(context, filter);
}

/** Holds the figure against its bills: both are known, and only the bills are read now. */
export function checkNote(
  added: BillSum | undefined,
  total: string | undefined,
  { selection }: WalletContext,
): Html {
  if (total === undefined) return html``;
  if (added === undefined) {
    return html`<p class="note">These days have too many bills to add them up here: fewer days are held against their bills.</p>`;
  }
  const { bills, idle, sum } = added;
  const lack = decimalText(subtract(decimalOf(total), decimalOf(sum)));
  const own = html`${formatCounted(bills, "bill")} ${bills === 1 ? "adds" : "add"} up to`;
  const idleText =
    idle === 0 ? "" : `; ${formatCount(idle)} of them ${idle === 1 ? "adds" : "add"} nothing`;
  return isZero(lack)
    ? html`<p class="note">${own} ${bills === 0 ? "nothing" : "it"}, to the last digit${idleText}.</p>`
    : html`<p class="is-off">${icon("bad")} ${own} <b>${netMovement(sum, selection)}</b> ${selection.coin}: the figure has <b>${netMovement(lack, { ...selection, isExact: true })}</b> ${selection.coin} more. Bills were changed or deleted by hand since it was added up. <code>npm run reconcile -- --full</code> finds where, and adds all figures up anew.</p>`;
}
