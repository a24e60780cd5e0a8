import { pageSizeDefault, pageSizeMax as recordsDefault } from "../../contract/account-bills.ts";
import type { BillText } from "../../contract/bill.ts";
import {
  categoryOf,
  isUnified,
  type ProductType,
  unifiedProductTypes,
} from "../../contract/product-types.ts";
import { type EpochMs, epochMs } from "../../contract/time.ts";
import type { Transaction } from "../../db/connect.ts";
import { readBillPage, readBillTime } from "../../db/ledger/bill-pages.ts";
import { readQuery } from "../../server/read-query.ts";
import { Refusal } from "../../server/source.ts";
import type { Interval } from "../../sync/intervals.ts";
import type { Stream } from "../../sync/store.ts";
import type { MirrorKey } from "../keys/key-file.ts";
import type { Query } from "./access.ts";
import { answeredFrom, type Hole, holesOf, holesWithin } from "./holes.ts";
import type { ReadLedgerTimes } from "./ledger-times.ts";
import { billsQuery, recordsQuery } from "./queries.ts";
import { completenessHeaders, refuseHoles } from "./refused-holes.ts";
import { refuseUnread } from "./unread-ledgers.ts";
import { type WireRow, wireBill, wireRecord } from "./wire-bills.ts";

/** What a route answers with, before it is put into the envelope. */
export type Served = {
  readonly data: object | Refusal;
  readonly headers?: Readonly<Record<string, string>>;
};

export type Asked = { readonly key: MirrorKey; readonly query: Query; readonly now: EpochMs };

export type BillsDeps = {
  readonly tx: Transaction;
  readonly readTimes: ReadLedgerTimes;
  readonly maxAgeMs: number;
};

// From this many rows on, ccxt pages by a field of the rows: it asks for 1,000.
const plainPageMax = 100;

/** Get Account Bills. */
export async function serveBills(deps: BillsDeps, { key, query, now }: Asked): Promise<Served> {
  const asked = readQuery(billsQuery, query);
  if (asked instanceof Refusal) return { data: asked };
  const { productType, coin, marginCoin, ...rest } = asked;
  const limit = Number(rest.limit ?? pageSizeDefault);
  if (coin !== undefined && marginCoin !== undefined && coin !== marginCoin)
    return { data: new Refusal(400, "40020", "Parameter marginCoin is not coin") };
  const page = await servePage(deps, {
    key,
    now,
    ...rest,
    productType,
    coin: coin ?? marginCoin,
    onlyFunding: rest.onlyFunding === "yes",
    cursor: rest.idLessThan,
    limit,
  });
  if ("data" in page) return page;
  const { bills, endId, headers } = page;
  const rows: readonly WireRow[] = bills.map(wireBill);
  const withEnd = limit > plainPageMax ? rows.map((row) => ({ ...row, endId })) : rows;
  return { data: { bills: withEnd, endId }, headers };
}

/** Get Financial Records: the same of a unified account. */
export async function serveRecords(deps: BillsDeps, { key, query, now }: Asked): Promise<Served> {
  const asked = readQuery(recordsQuery, query);
  if (asked instanceof Refusal) return { data: asked };
  const productType = unifiedProductTypes.find((type) => categoryOf(type) === asked.category);
  if (productType === undefined)
    return { data: new Refusal(400, "400172", "Parameter verification failed category") };
  const page = await servePage(deps, {
    key,
    now,
    ...asked,
    productType,
    businessType: asked.type,
    onlyFunding: false,
    limit: Number(asked.limit ?? recordsDefault),
  });
  if ("data" in page) return page;
  const list = page.bills.map((bill) => wireRecord(productType, bill));
  return { data: { list, cursor: page.endId }, headers: page.headers };
}

type PageAsked = {
  readonly key: MirrorKey;
  readonly now: EpochMs;
  readonly productType: ProductType;
  readonly symbol?: string | undefined;
  readonly coin?: string | undefined;
  readonly businessType?: string | undefined;
  readonly onlyFunding: boolean;
  readonly cursor?: string | undefined;
  readonly startTime?: string | undefined;
  readonly endTime?: string | undefined;
  readonly limit: number;
};

type Page = {
  readonly bills: readonly BillText[];
  /** Empty where nothing is older. */
  readonly endId: string;
  readonly headers: Readonly<Record<string, string>>;
};

/** A page, or why it is not served: it never stops short of, or leaps over, time that was not read. */
async function servePage(deps: BillsDeps, asked: PageAsked): Promise<Page | Served> {
  const { tx, readTimes, maxAgeMs } = deps;
  const { key, now, productType, cursor } = asked;
  const stream: Stream = { account: key.account, productType };
  if (key.productTypes !== undefined && !key.productTypes.includes(productType))
    return { data: notOfKey(key, productType) };
  const reading = readTimes(tx, stream, now);
  // Sent together, for one round trip; but a span that is trimmed waits for where it begins.
  const isTrimmed = key.gaps === "trim" && asked.startTime !== undefined;
  const from = startOf(asked, isTrimmed ? answeredFrom(await reading) : undefined);
  const to = timeOf(asked.endTime);
  const [times, below, bills] = await Promise.all([
    reading,
    cursor === undefined ? undefined : readBillTime(tx, stream, cursor),
    readBillPage(tx, {
      ...{ stream, from, to, below: cursor, limit: asked.limit, onlyFunding: asked.onlyFunding },
      ...{ symbol: asked.symbol, coin: asked.coin, businessType: asked.businessType },
    }),
  ]);
  const begin = answeredFrom(times);
  if (begin === undefined && key.gaps !== "allow") return { data: await refuseUnread(tx, stream) };
  if (cursor !== undefined && below === undefined) return { data: unknownCursor(productType) };
  const holes = holesOf(times, { now, maxAgeMs });
  const headers = completenessHeaders(times, holes);
  const oldest = bills.at(-1);
  const isFull = bills.length === asked.limit;
  const reached = isFull && oldest !== undefined ? epochMs(Number(oldest.cTimeMs)) : begin;
  const span = {
    from: from ?? reached ?? epochMs(Number.NEGATIVE_INFINITY),
    to: epochMs(Math.min(to ?? Number.POSITIVE_INFINITY, below ?? Number.POSITIVE_INFINITY) + 1),
  };
  const refusal = key.gaps === "allow" ? undefined : refuseHoles(stream, within(holes, span));
  if (refusal !== undefined) return { data: refusal, headers };
  return { bills, endId: oldest?.billId ?? "", headers };
}

const within = (holes: readonly Hole[], span: Interval): readonly Hole[] =>
  span.from < span.to ? holesWithin(holes, span) : [];

/** A loop over a year begins before there was anything: a key may let that be empty. */
function startOf({ key, startTime }: PageAsked, begin: EpochMs | undefined): EpochMs | undefined {
  const from = timeOf(startTime);
  return from !== undefined && key.gaps === "trim" ? epochMs(Math.max(from, begin ?? from)) : from;
}

const timeOf = (digits: string | undefined): EpochMs | undefined =>
  digits === undefined ? undefined : epochMs(Number(digits));

const notOfKey = ({ name }: MirrorKey, productType: ProductType) =>
  new Refusal(400, "40014", `Incorrect permissions: the key ${name} does not read ${productType}`);

const unknownCursor = (productType: ProductType) =>
  new Refusal(
    400,
    "40020",
    `Parameter ${isUnified(productType) ? "cursor" : "idLessThan"} error: no such bill is stored`,
  );
