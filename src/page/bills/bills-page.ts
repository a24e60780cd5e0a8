import type { Transaction } from "../../db/connect.ts";
import { readExchangeTime } from "../../db/exchange-time.ts";
import { decimalOf, decimalText, subtract } from "../../export/decimal.ts";
import { formatCount } from "../../terminal/format.ts";
import { netMovement } from "../format.ts";
import { type Html, html, joined } from "../html.ts";
import { icon } from "../icons.ts";
import { messagePage, pageFoot, pageHead } from "../layout.ts";
import { missedNote } from "../missed.ts";
import { type BillFilter, billFilterOf, billsAddress } from "../money/bill-links.ts";
import { contractParts } from "../money/contract-parts.ts";
import { readEarnings, together } from "../money/earnings.ts";
import { isZero, sumOf, together as wholeOf } from "../money/stretches.ts";
import { walletDays } from "../money/wallet-days.ts";
import type { WalletContext } from "../section.ts";
import { queryOf } from "../selection.ts";
import { readShown } from "../shown.ts";
import { type BillPlace, placeOf, placeText } from "./bill-place.ts";
import { billTable } from "./bill-table.ts";
import { type BillList, listBills } from "./listed-bills.ts";

/**
 * Writes the page of the bills that make up a figure: newest first, with the balance chain beside
 * them.
 */
export async function writeBillsPage(
  tx: Transaction,
  asked: URLSearchParams,
  write: (part: Html) => void,
): Promise<void> {
  const now = await readExchangeTime(tx);
  const { selection, wallets, missed } = await readShown(tx, asked, now);
  if (selection === undefined) {
    return write(messagePage("Nothing is stored yet", html`Run <code>npm run sync</code> first.`));
  }
  const context = { tx, selection, wallets, now };
  const filter = billFilterOf(asked);
  const before = placeOf(asked.get("before"));
  write(pageHead("Bills", []));
  const total = await totalOf(context, filter);
  const list = await listBills(context, filter, before);
  const { account, product, coin, from, to } = selection;
  write(
    html`
<section class="card" id="bills" aria-labelledby="bills-title">
<header><h1 id="bills-title">Bills</h1><p class="about">${account} ${product} ${coin}, ${from === to ? from : `${from} to ${to}`}</p></header>
${missedNote(missed, selection)}
<p class="facts"><span>${whatText(filter)}</span>${total === undefined ? "" : html`<span>${filter.pieces.length === 0 ? "moved the balance by" : "is"} <b>${netMovement(total, selection)}</b> ${coin} in all</span>`}</p>
<p class="presets"><a href="/${queryOf(selection)}">Back to the page</a>${digitsLink(context, filter, before)}</p>
${list.bills.length === 0 ? html`<p class="note">There is none.</p>` : billTable(list, selection, filter)}
${listFoot(list, context, filter, before, total)}
</section>`,
  );
  write(
    pageFoot(
      html`<p>Times are UTC, to the millisecond. A balance is followed through all bills of the coin, also those that are not listed here.</p>`,
    ),
  );
}

const whatText = ({ pieces, symbol }: BillFilter): Html =>
  html`${
    pieces.length === 0
      ? "All bills"
      : joined(
          pieces.map(({ title }) => html`<b class="named">${title}</b>`),
          " and ",
        )
  }${symbol === undefined ? "" : html` of <b>${symbol === "" ? "no contract" : symbol}</b>`}`;

/**
 * The total of the figure that led here, from the same source as the main page's. Undefined if the
 * main page shows no such figure.
 */
async function totalOf(
  context: WalletContext,
  { pieces, symbol }: BillFilter,
): Promise<string | undefined> {
  if (pieces.length === 0) return undefined;
  const part = contractParts.find(({ name }) => name === pieces[0]?.name)?.name;
  if (part !== undefined) {
    const { product, coin } = context.selection;
    const own = (await readEarnings(context))
      .filter((each) => each.product === product && each.coin === coin)
      .flatMap(({ contracts }) => contracts)
      .filter((contract) => symbol === undefined || contract.symbol === symbol);
    return together(own).figures[part];
  }
  if (symbol !== undefined) return undefined;
  const whole = wholeOf(await walletDays(context));
  const moved: Readonly<Record<string, string>> = whole?.moved ?? {};
  return whole && sumOf(pieces.flatMap(({ name }) => moved[name] ?? []));
}

function digitsLink(
  { selection }: WalletContext,
  filter: BillFilter,
  before: BillPlace | undefined,
): Html {
  const other = { ...selection, isExact: !selection.isExact };
  return html` <a href="${addressAt(other, filter, before)}">${selection.isExact ? "usual digits" : "all digits"}</a>`;
}

const addressAt = (
  selection: WalletContext["selection"],
  { pieces, symbol }: BillFilter,
  before: BillPlace | undefined,
): string => {
  const address = billsAddress(selection, {
    pieces: pieces.map(({ name }) => name),
    ...(symbol !== undefined && { symbol }),
  });
  return before === undefined
    ? address
    : `${address}&${new URLSearchParams({ before: placeText(before) })}`;
};

/** The list's end: a link to older bills, or a note that these were all, with their sum. */
function listFoot(
  { bills, next }: BillList,
  { selection }: WalletContext,
  filter: BillFilter,
  before: BillPlace | undefined,
  total: string | undefined,
): Html {
  if (next !== undefined) {
    return html`<p class="presets"><a href="${addressAt(selection, filter, next)}">Older bills</a></p>`;
  }
  if (before !== undefined) return html`<p class="note">No older ones.</p>`;
  const sum = sumOf(bills.map(({ part }) => part));
  const lack = total === undefined ? "0" : decimalText(subtract(decimalOf(total), decimalOf(sum)));
  if (!isZero(lack) && filter.pieces.some(({ name }) => name !== "closed_out")) {
    return html`<p class="is-off">${icon("bad")} These ${formatCount(bills.length)} add up to ${netMovement(sum, selection)} ${selection.coin}: the figure above has ${netMovement(lack, selection)} more. Bills may have been changed by hand: <code>npm run reconcile -- --full</code> finds out.</p>`;
  }
  if (bills.length === 0) return html``;
  return html`<p class="note">These are all ${formatCount(bills.length)}; they add up to ${netMovement(sum, selection)} ${selection.coin}${total === undefined ? "" : ", which is the figure above"}.</p>`;
}
