import { discrepancyText } from "../../../check/health/discrepancy.ts";
import type { Transaction } from "../../../core/postgres/connect.ts";
import { readExchangeTime } from "../../../core/store/known-time.ts";
import { epochMs, isoTime } from "../../../lib/time.ts";
import { allDigits, amount, daysText, isZero, movement, none } from "../../../output/format.ts";
import { type Html, html } from "../../../output/html.ts";
import { formatCounted } from "../../../output/output-format.ts";
import { pieces } from "../../../output/pieces.ts";
import {
  type BillList,
  type BillSum,
  type Chain,
  figureOf,
  type ListedBill,
  listBills,
  placeOf,
  placeText,
  sumOfBills,
} from "./bills.ts";
import { dateFields, frame, messagePage, missedNote, pageFoot, pageHead } from "./layout.ts";
import { readDays, sumOf } from "./periods.ts";
import {
  type Asked,
  type BillFilter,
  billsAddress,
  filterIn,
  type PageQuery,
  queryOf,
  walletTitle,
} from "./selection.ts";
import { readPageQuery } from "./wallets.ts";

/** Writes the page of the bills that make up a figure: newest first, each with its balances. */
export async function writeBillsPage(
  tx: Transaction,
  query: Asked,
  write: (part: Html) => void,
): Promise<void> {
  const selected = await readPageQuery(tx, query, await readExchangeTime(tx));
  if (selected === undefined) {
    return write(
      messagePage("Nothing is stored yet", html`Run <code>bill-sync sync</code> first.`),
    );
  }
  const { selection, missed } = selected;
  const filter = filterIn(query);
  const before = query.get("before");
  const addressOf = (one: PageQuery, place: string | null) =>
    billsAddress(one, { ...one, ...filter }, place);
  write(pageHead("Bills", "Bills", { query: queryOf(selection) }));
  write(html`
<section id="bills" aria-labelledby="bills-title"><h1 id="bills-title">Bills</h1>
<p class="quiet">${selection.account} ${walletTitle(selection)}, ${daysText(selection)}: ${whatText(filter)}</p>
${missedNote(missed)}
${form(selection, filter)}`);
  const days = await readDays(tx, selection);
  const figure = await figureOf(tx, selection, filter, days);
  const list = await listBills(tx, selection, filter, { days, before: placeOf(before) });
  const sum = figure === undefined ? undefined : await sumOfBills(tx, selection, filter, days);
  write(html`${sumNote(figure, sum, selection)}
${list.bills.length === 0 ? html`<p>There is none.</p>` : billTable(list, selection, filter)}
${list.next === undefined ? "" : html`<p><a href="${addressOf(selection, placeText(list.next))}">Older bills</a></p>`}
</section>`);
  write(
    pageFoot(
      html`Times are UTC, to the millisecond. Each balance is checked against the one before it and its bill, over all bills of the coin, also those that are not listed here. <a href="${addressOf({ ...selection, isExact: !selection.isExact }, before)}">${selection.isExact ? "Usual digits" : "All digits"}</a>.`,
    ),
  );
}

const whatText = ({ piece, symbol, type, search }: BillFilter): string =>
  [
    piece === undefined ? "all bills" : pieces[piece].title.toLowerCase(),
    ...(symbol === undefined ? [] : [symbol === "" ? "of no contract" : `of ${symbol}`]),
    ...(type === undefined ? [] : [`of the type ${type}`]),
    ...(search === "" ? [] : [`with “${search}”`]),
  ].join(" ");

/** Days and a search, which keep the figure. */
function form({ account, product, coin, from, to, isExact }: PageQuery, filter: BillFilter): Html {
  const { piece, symbol, type, search } = filter;
  const hiddenFields = Object.entries({ account, product, coin, of: piece, symbol, type }).flatMap(
    ([name, value]) =>
      value === undefined ? [] : [html`<input type="hidden" name="${name}" value="${value}">`],
  );
  return html`<form method="get" action="/bills">${hiddenFields}${isExact ? html`<input type="hidden" name="exact" value="1">` : ""}
${dateFields({ from, to })}
<label><span class="unseen">Bill, type or contract</span><input type="search" name="search" value="${search}" placeholder="bill, type or contract"></label><button>Show</button></form>`;
}

/** Holds the figure, which comes from stored days, against its bills, which are read now. */
function sumNote(
  figure: string | undefined,
  added: BillSum | undefined,
  { coin }: PageQuery,
): Html {
  if (figure === undefined) return html``;
  const text = html`<b>${allDigits(figure, "+")} ${coin}</b>`;
  if (added === undefined) {
    return html`<p>${text}. These days have too many bills to add them up here: choose fewer days.</p>`;
  }
  const missing = sumOf([figure, added.sum.startsWith("-") ? added.sum.slice(1) : `-${added.sum}`]);
  return isZero(missing)
    ? html`<p>${formatCounted(added.bills, "bill")} ${added.bills === 1 ? "adds" : "add"} up to ${text}, to the last digit.</p>`
    : html`<p class="bad">The figure is ${text}, and its ${formatCounted(added.bills, "bill")} add up to <b>${allDigits(added.sum, "+")}</b>. Somebody changed or deleted bills by hand. <code>bill-sync reconcile --full</code> says where.</p>`;
}

/** The table of bills, with the balance before and after each. */
function billTable({ bills }: BillList, selection: PageQuery, { piece }: BillFilter): Html {
  const hasChain = bills.some(({ chain }) => chain !== undefined);
  const isUnified = selection.product === "UTA";
  const number = (title: string) => html`<th scope="col" class="n">${title}</th>`;
  return html`${hasChain ? "" : html`<p class="quiet">These days have too many bills to check each balance. A time leads to the bills of its day.</p>`}
${frame(
  "List of bills",
  html`<table class="bills"><thead><tr><th scope="col">Time</th>${isUnified ? html`<th scope="col">Product</th>` : ""}<th scope="col">Type</th><th scope="col">Contract</th>${number("Amount")}${number("Fee")}${number(piece === undefined ? "Moved" : pieces[piece].title)}${hasChain ? html`${number("Balance before")}${number("Balance after")}<th scope="col">Check</th>` : ""}<th scope="col">Bill</th></tr></thead>
<tbody>${bills.map((bill) => rowOf(bill, selection, { hasChain, isUnified }))}</tbody></table>`,
)}`;
}

function rowOf(
  { cTime, productType, billId, businessType, category, symbol, chain, ...bill }: ListedBill,
  selection: PageQuery,
  { hasChain, isUnified }: { readonly hasChain: boolean; readonly isUnified: boolean },
): Html {
  const day = isoTime(cTime).slice(0, 10);
  const all = billsAddress(selection, { from: day, to: day }, isoTime(epochMs(cTime + 1)));
  const moved = (decimal: string) => html`<td class="n">${movement(decimal, selection)}</td>`;
  return html`
<tr><th scope="row"><a href="${all}">${isoTime(cTime).replace("T", " ")}</a></th>${isUnified ? html`<td>${productType.replace("UTA-", "")}</td>` : ""}<td>${businessType} <small>${category}</small></td><td>${symbol ?? ""}</td>${moved(bill.amount)}${moved(bill.fee)}${moved(bill.part)}${hasChain ? chainCells(chain, selection) : ""}<td class="quiet">${billId}</td></tr>`;
}

const chainCells = (chain: Chain | undefined, selection: PageQuery): Html =>
  chain === undefined
    ? html`<td></td><td></td><td></td>`
    : html`<td class="n">${amount(chain.before, selection)}</td><td class="n">${amount(chain.after, selection)}</td><td>${checkText(chain, selection)}</td>`;

function checkText(
  { difference, rounding, isReconciled }: Chain,
  { coin }: Pick<PageQuery, "coin">,
): Html {
  if (difference === null) return none;
  if (!isZero(difference)) {
    return html`<span class="${isReconciled ? "bad" : "warn"}">${discrepancyText({ kind: "chain", coin, difference }) ?? ""}${isReconciled ? "" : ", not reconciled yet"}</span>`;
  }
  return isZero(rounding)
    ? html`<span class="good">adds up</span>`
    : html`rounded ${allDigits(rounding, "+")}`;
}
