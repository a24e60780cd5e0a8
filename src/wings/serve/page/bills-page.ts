import { type SQL, sql } from "drizzle-orm";
import { discrepancyText } from "../../../check/reconcile/breaks.ts";
import type { Transaction } from "../../../core/postgres/connect.ts";
import { msOf, onlyRow, textArray, timeFrom } from "../../../core/postgres/values.ts";
import { readExchangeTime } from "../../../core/store/known-time.ts";
import { withAnyBalance } from "../../../core/views/bill-sums.ts";
import { type EpochMs, epochMs, isoTime } from "../../../lib/time.ts";
import { type Html, html } from "../../../output/html.ts";
import {
  allDigits,
  amount,
  daysText,
  isZero,
  movement,
  none,
} from "../../../output/html-figures.ts";
import { isOfChain, partOfBill, pieces } from "../../../output/pieces.ts";
import { formatCounted } from "../../../output/text.ts";
import { dateFields, frame, messagePage, missedNote, pageFoot, pageHead } from "./layout.ts";
import { type Period, readDays } from "./periods.ts";
import {
  type Asked,
  type BillFilter,
  billsAddress,
  filterIn,
  type PageQuery,
  queryOf,
  timesOf,
  walletProductTypes,
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
  const list = await listBills(tx, selection, filter, { days, before: placeOf(before) });
  const sum = await sumOfBills(tx, selection, filter, days);
  write(html`${sumNote(sum, selection)}
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

function sumNote(added: BillSum | undefined, { coin }: PageQuery): Html {
  return added === undefined
    ? html`<p>These days have too many bills to add them up here: choose fewer days.</p>`
    : html`<p>${formatCounted(added.bills, "bill")} ${added.bills === 1 ? "adds" : "add"} up to <b>${allDigits(added.sum, "+")} ${coin}</b>.</p>`;
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
    return html`<span class="${isReconciled ? "bad" : "warn"}">${discrepancyText({ kind: "balance", difference, unit: coin }) ?? ""}${isReconciled ? "" : ", not reconciled yet"}</span>`;
  }
  return isZero(rounding)
    ? html`<span class="good">adds up</span>`
    : html`rounded ${allDigits(rounding, "+")}`;
}

// The bills that make up a figure: a list of the newest, and the sum of all of them.

/** A bill's place in the order of its wallet's bills, by its own fields. */
type BillPlace = {
  readonly cTime: EpochMs;
  readonly billId: string;
  readonly productType: string;
};

/** The place as text in an address: `2026-11-22T01:09:33.123Z/1234/USDT-FUTURES`. */
const placeText = ({ cTime, billId, productType }: BillPlace): string =>
  [isoTime(cTime), billId, productType].join("/");

/** The place that an address gives; undefined if the text is none. */
function placeOf(text: string | null): BillPlace | undefined {
  const [time = "", ...rest] = text?.split("/") ?? [];
  const ms = Date.parse(time);
  const [productType = "", billId = ""] = [rest.at(-1), rest.slice(0, -1).join("/")];
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time) && !Number.isNaN(ms)
    ? { cTime: epochMs(ms), billId, productType }
    : undefined;
}

/** Decimals are text. */
type ListedBill = BillPlace & {
  readonly symbol: string | null;
  readonly businessType: string;
  readonly category: string;
  readonly amount: string;
  readonly fee: string;
  /** What the bill adds to the figure; to no figure, what it moves the wallet by. */
  readonly part: string;
  /** Undefined if the bill's days hold too many bills to place each in the chain. */
  readonly chain: Chain | undefined;
};

/** A bill's place in the balance chain, and whether its balance follows from the bills before it. */
type Chain = {
  readonly place: string;
  /** Null where no bill of the ledger shows a balance. */
  readonly before: string | null;
  readonly after: string | null;
  readonly difference: string | null;
  readonly rounding: string;
  readonly isReconciled: boolean;
};

type BillList = {
  /** Newest first. */
  readonly bills: readonly ListedBill[];
  /** The last listed bill, after which older ones follow; undefined if there are none. */
  readonly next: BillPlace | undefined;
};

const listedMax = 200;
// Placing one bill in the chain takes ordering all bills of its day: 25,000 took 0.2 s.
const chainedMax = 25_000;
// Adding up more would make the page slow: 100,000 take 0.2 s.
const addedMax = 100_000;

/** A figure's bills, from analytics.entries, which computes no chain, or from analytics.activity, which does. */
type Source = { readonly from: SQL; readonly where: SQL; readonly part: SQL };

function sourceOf(
  selection: PageQuery,
  { piece, symbol, type, search }: BillFilter,
  days: readonly Period[],
): Source {
  const { account, coin } = selection;
  const { from, to } = timesOf(selection);
  const isOfDays =
    piece !== undefined && isOfChain(piece)
      ? sql`day = any(${textArray(days.flatMap((day) => (isZero(day.figures[piece]) ? [] : day.from)))}::date[])`
      : sql`c_time >= ${isoTime(from)}::timestamptz and c_time < ${isoTime(to)}::timestamptz`;
  const part = piece === undefined ? sql`wallet_amount + wallet_fee` : partOfBill(piece);
  const conditions = [
    sql`account = ${account}`,
    sql`coin = ${coin}`,
    isOfDays,
    ...(piece === undefined ? [] : [sql`(${part}) <> 0`]),
    ...(symbol === undefined ? [] : [sql`coalesce(symbol, '') = ${symbol}`]),
    ...(type === undefined ? [] : [sql`business_type = ${type}`]),
    ...(search === ""
      ? []
      : [
          sql`(bill_id = ${search} or strpos(lower(business_type), lower(${search})) > 0
        or strpos(lower(symbol), lower(${search})) > 0)`,
        ]),
  ];
  return {
    from:
      piece !== undefined && isOfChain(piece) ? sql`analytics.activity` : sql`analytics.entries`,
    where: sql.join(conditions, sql` and `),
    part,
  };
}

/** The newest bills of a figure that are older than `before`. `days` are all of the selection. */
async function listBills(
  tx: Transaction,
  selection: PageQuery,
  filter: BillFilter,
  { days, before }: { readonly days: readonly Period[]; readonly before: BillPlace | undefined },
): Promise<BillList> {
  const { from, where, part } = sourceOf(selection, filter, days);
  const isOlder =
    before === undefined
      ? sql``
      : sql`and c_time <= ${isoTime(before.cTime)}::timestamptz
        and (c_time, length(bill_id), bill_id, product_type)
          < (${isoTime(before.cTime)}::timestamptz, length(${before.billId}), ${before.billId}, ${before.productType})`;
  // Each product type by itself, in an index's order. One query over all of them would sort every bill of the
  // selected days, 0.3 s at 250,000.
  const ofType = (productType: string) => sql`(
      select product_type, bill_id, c_time, symbol, business_type, category, amount, fee, ${part} as part
      from ${from}
      where product_type = ${productType} and ${where} ${isOlder}
      order by c_time desc, length(bill_id) desc, bill_id desc
      limit ${listedMax + 1}
    )`;
  const { rows } = await tx.execute<Omit<ListedBill, "cTime" | "chain"> & { cTimeMs: string }>(sql`
    select
      product_type as "productType",
      bill_id as "billId",
      ${msOf(sql`c_time`)} as "cTimeMs",
      symbol,
      business_type as "businessType",
      category,
      amount::text,
      fee::text,
      part::text
    from (${sql.join(walletProductTypes(selection).map(ofType), sql` union all `)}) as newest
    order by c_time desc, length(bill_id) desc, bill_id desc, product_type desc
    limit ${listedMax + 1}`);
  const newest = rows.map(({ cTimeMs, ...row }) => ({ ...row, cTime: timeFrom(cTimeMs) }));
  const listed = newest.slice(0, listedMax);
  const chains = await readChains(tx, selection, listed);
  const bills = listed.map((bill) => ({ ...bill, chain: chains.get(keyOf(bill)) }));
  return {
    bills: bills.toSorted(newestFirst),
    next: newest.length > listedMax ? listed.at(-1) : undefined,
  };
}

const keyOf = ({ productType, billId }: Pick<BillPlace, "productType" | "billId">): string =>
  `${productType}/${billId}`;

/** By the chain where it is known: the ids of one millisecond may have another order. */
const newestFirst = (a: ListedBill, b: ListedBill): number =>
  b.cTime - a.cTime || Number(BigInt(b.chain?.place ?? 0) - BigInt(a.chain?.place ?? 0));

/** Empty if the bills' days hold more than {@link chainedMax} bills. */
async function readChains(
  tx: Transaction,
  selection: PageQuery,
  bills: readonly BillPlace[],
): Promise<ReadonlyMap<string, Chain>> {
  const days = [...new Set(bills.map(({ cTime }) => isoTime(cTime).slice(0, 10)))];
  const { account, coin } = selection;
  const isOfWallet = sql`account = ${account}
      and product_type = any(${textArray(walletProductTypes(selection))}::text[])
      and coin = ${coin}
      and day = any(${textArray(days)}::date[])`;
  if (days.length === 0) return new Map();
  const { rows: counted } = await tx.execute<{ bills: string }>(sql`
    select count(*) as bills
    from (
      select 1
      from analytics.entries
      where ${isOfWallet}
        and ${withAnyBalance("entries")}
      limit ${chainedMax + 1}
    ) as looked`);
  if (Number(counted[0]?.bills) > chainedMax) return new Map();
  const { rows } = await tx.execute<Chain & Pick<BillPlace, "productType" | "billId">>(sql`
    select
      product_type as "productType",
      bill_id as "billId",
      place::text,
      balance_before::text as before,
      running_balance::text as after,
      (discrepancy + unreconciled)::text as difference,
      rounding::text,
      is_reconciled as "isReconciled"
    from analytics.activity
    where ${isOfWallet}
      and bill_id = any(${textArray(bills.map(({ billId }) => billId))}::text[])`);
  return new Map(rows.map((row) => [keyOf(row), row]));
}

type BillSum = { readonly bills: number; readonly sum: string };

/** What all listed bills add up to, on this page and older ones; undefined if they are too many to add up at a look. */
async function sumOfBills(
  tx: Transaction,
  selection: PageQuery,
  filter: BillFilter,
  days: readonly Period[],
): Promise<BillSum | undefined> {
  if (days.reduce((sum, { bills }) => sum + bills, 0) > addedMax) return undefined;
  const { from, where, part } = sourceOf(selection, filter, days);
  const { rows } = await tx.execute<BillSum>(sql`
    select count(*)::float8 as bills, coalesce(sum(${part}), 0)::text as sum
    from ${from}
    where product_type = any(${textArray(walletProductTypes(selection))}::text[])
      and ${where}`);
  return onlyRow(rows, "a figure's bills");
}
