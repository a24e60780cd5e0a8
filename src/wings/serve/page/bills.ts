import { type SQL, sql } from "drizzle-orm";
import type { Transaction } from "../../../core/postgres/connect.ts";
import { msOf, onlyRow, textArray, timeFrom } from "../../../core/postgres/values.ts";
import { type EpochMs, epochMs, isoTime } from "../../../lib/time.ts";
import { isZero } from "../../../output/format.ts";
import { isOfChain, partOfBill, pieceNames } from "../../../output/pieces.ts";
import { type Period, readGroups, sumOf, together } from "./periods.ts";
import { type BillFilter, type PageQuery, timesOf, walletProductTypes } from "./selection.ts";

// The bills that make up a figure: a list of the newest, and the sum of all of them.

/** A bill's place in the order of its wallet's bills, by its own fields. */
export type BillPlace = {
  readonly cTime: EpochMs;
  readonly billId: string;
  readonly productType: string;
};

/** The place as text in an address: `2026-11-22T01:09:33.123Z/1234/USDT-FUTURES`. */
export const placeText = ({ cTime, billId, productType }: BillPlace): string =>
  [isoTime(cTime), billId, productType].join("/");

/** The place that an address gives; undefined if the text is none. */
export function placeOf(text: string | null): BillPlace | undefined {
  const [time = "", ...rest] = text?.split("/") ?? [];
  const ms = Date.parse(time);
  const [productType = "", billId = ""] = [rest.at(-1), rest.slice(0, -1).join("/")];
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time) && !Number.isNaN(ms)
    ? { cTime: epochMs(ms), billId, productType }
    : undefined;
}

/** Decimals are text. */
export type ListedBill = BillPlace & {
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
export type Chain = {
  readonly place: string;
  /** Null where no bill of the ledger shows a balance. */
  readonly before: string | null;
  readonly after: string | null;
  readonly difference: string | null;
  readonly rounding: string;
  readonly isReconciled: boolean;
};

export type BillList = {
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
export async function listBills(
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
    select coalesce(sum(bills), 0) as bills
    from type_days
    where ${isOfWallet}`);
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

export type BillSum = { readonly bills: number; readonly sum: string };

/** What all bills of a figure add up to; undefined if they are too many to add up at a look. */
export async function sumOfBills(
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

/** The figure that the statement shows of these bills, from stored days; undefined if it shows none. */
export async function figureOf(
  tx: Transaction,
  selection: PageQuery,
  { piece, symbol, type, search }: BillFilter,
  days: readonly Period[],
): Promise<string | undefined> {
  if (search !== "" || (symbol !== undefined && type !== undefined)) return undefined;
  if (symbol === undefined && type === undefined) {
    const whole = together(days);
    return whole && (piece === undefined ? movedBy(whole) : whole.figures[piece]);
  }
  const view = symbol === undefined ? "kinds" : "contracts";
  const groups = await readGroups(tx, { ...selection, view });
  const group = groups.find(({ name }) => name === (symbol ?? type));
  return group && (piece === undefined ? group.moved : group.figures[piece]);
}

const movedBy = ({ figures }: Period): string =>
  sumOf(pieceNames.flatMap((name) => (name === "result" || isOfChain(name) ? [] : figures[name])));
