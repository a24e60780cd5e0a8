import type { Transaction } from "../../db/connect.ts";
import { readExchangeTime } from "../../db/exchange-time.ts";
import { netMovement } from "../format.ts";
import { type Html, html, joined } from "../html.ts";
import { messagePage, pageFoot, pageHead } from "../layout.ts";
import { missedNote } from "../missed.ts";
import { type BillFilter, billFilterOf, billsAddress } from "../money/bill-links.ts";
import { contractParts } from "../money/contract-parts.ts";
import { readEarnings, together } from "../money/earnings.ts";
import { lines } from "../money/lines.ts";
import { sumOf, together as wholeOf } from "../money/stretches.ts";
import { walletDays } from "../money/wallet-days.ts";
import type { WalletContext } from "../section.ts";
import { queryOf, walletText } from "../selection.ts";
import { readShown } from "../shown.ts";
import { type BillPlace, placeOf, placeText } from "./bill-place.ts";
import { billTable } from "./bill-table.ts";
import { checkNote, sumToCheck } from "./figure-check.ts";
import { listBills } from "./listed-bills.ts";

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
  const sum = await sumToCheck(context, filter, { list, isFirst: before === undefined });
  const { coin, from, to } = selection;
  write(
    html`
<section class="card" id="bills" aria-labelledby="bills-title">
<header><h1 id="bills-title">Bills</h1><p class="about">${walletText(selection)}, ${from === to ? from : `${from} to ${to}`}</p></header>
${missedNote(missed, selection)}
<p class="facts"><span>${whatText(filter)}</span>${total === undefined ? "" : html`<span>${filter.pieces.length === 0 ? "moved the balance by" : "is"} <b>${netMovement(total, selection)}</b> ${coin} in all</span>`}</p>
${checkNote(sum, total, context)}
<p class="presets"><a href="/${queryOf(selection)}">Back to the page</a>${digitsLink(context, filter, before)}</p>
${list.bills.length === 0 ? html`<p class="note">There is none.</p>` : billTable(list, selection, filter)}
${list.next === undefined ? (before === undefined ? "" : html`<p class="note">No older ones.</p>`) : html`<p class="presets"><a href="${addressAt(selection, filter, list.next)}">Older bills</a></p>`}
</section>`,
  );
  write(
    pageFoot(
      html`<p>Times are UTC, to the millisecond. Each balance is checked against the one before it and its bill, over all bills of the coin, also those that are not listed here. “Counted” is what a bill adds to the figure.</p>`,
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
  if (pieces.length === 0 && symbol === undefined) return movedByBills(context);
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
  if (whole === undefined) return undefined;
  const moved: Readonly<Record<string, string>> = whole.moved;
  const names = pieces.flatMap((piece) =>
    "lines" in piece ? piece.lines.map(({ name }) => name) : [piece.name],
  );
  return sumOf(names.flatMap((name) => moved[name] ?? []));
}

/** What all bills of the selected days moved the balance by. */
async function movedByBills(context: WalletContext): Promise<string | undefined> {
  const whole = wholeOf(await walletDays(context));
  const own = lines.filter(({ name, isOfChain }) => !isOfChain && name !== "closed_out");
  return whole && sumOf(own.map(({ name }) => whole.moved[name]));
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
