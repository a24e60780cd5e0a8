import { type SQL, sql } from "drizzle-orm";
import { pageSizeDefault, pageSizeMax as recordsDefault } from "../../contract/account-bills.ts";
import { parseExactJson } from "../../contract/json.ts";
import {
  categoryOf,
  fundingWallet,
  isOfUnifiedAccount,
  type ProductType,
  spotWallet,
  type UnifiedProductType,
  unifiedProductTypes,
} from "../../contract/product-types.ts";
import { type EpochMs, epochMs } from "../../contract/time.ts";
import type { Execute, Read, ReadAtOnce } from "../../db/connect.ts";
import { msOf } from "../../db/sql/time-text.ts";
import { Refusal, readQuery } from "../../exchange-server/source.ts";
import {
  type BillPage,
  readBillPage,
  rowSeparator,
  typeGroup,
  typeName,
} from "../../ledger/read-bill-page.ts";
import type { Stream } from "../../sync/store.ts";
import type { MirrorKey } from "../keys/key-file.ts";
import { JsonText } from "../send-envelope.ts";
import type { Query } from "./access.ts";
import { completenessHeaders, holesOf, holesWithin, refuseHoles } from "./holes.ts";
import { type KnownLedgers, refuseUnread, type VersionedTimes } from "./ledger-times.ts";
import { billsQuery, fundingQuery, recordsQuery, spotBillsQuery } from "./queries.ts";

const timeMs = msOf(sql`c_time`);

/**
 * A bill's JSON as the exchange served it. Values that the exchange left empty, null or out are
 * empty.
 *
 * Postgres builds it with format(): row_to_json looks up each column's name and type for every row,
 * and took half as long again.
 */
export const wireBill = sql`format(
        '{"billId":%s,"symbol":%s,"amount":"%s","fee":"%s","feeByCoupon":"%s","businessType":%s,'
          '"coin":%s,"balance":"%s","cTime":"%s"}',
        to_json(bill_id), to_json(coalesce(symbol, '')), amount, fee, fee_by_coupon,
        to_json(business_type), to_json(coin), balance, ${timeMs}
      )`;

/**
 * The JSON of a unified account's bill. The position fields were added in 2026: older rows do not
 * have them.
 */
export const wireRecord = (productType: UnifiedProductType) => sql`format(
        '{"category":%s,"id":%s,"symbol":%s,"coin":%s,"type":%s%s,"amount":"%s","fee":"%s"%s%s,'
          '"balance":"%s","ts":"%s"}',
        to_json(${categoryOf(productType)}::text), to_json(bill_id), to_json(coalesce(symbol, '')),
        to_json(coin), to_json(business_type), ',"positionType":' || to_json(position_type)::text,
        amount, fee, ',"positionAmount":"' || position_amount || '"',
        ',"positionBalance":"' || position_balance || '"', balance, ${timeMs}
      )`;

/** The page's rows as a JSON list. @param member added to each row, after its other members. */
function wireRows(
  { json, extras }: Pick<BillPage, "json" | "extras">,
  member: Readonly<Record<string, string>> = {},
): string {
  const isAsStored = extras === undefined && Object.keys(member).length === 0;
  if (isAsStored || json === "") return `[${json}]`;
  const rows = json
    .split(rowSeparator)
    .map((row, place) => ({ ...JSON.parse(row), ...membersOf(extras?.[place]), ...member }));
  return JSON.stringify(rows);
}

/**
 * Fields that the contract does not list. Numbers that the exchange spelled differently are
 * included under their own names.
 */
const membersOf = (extra: string | null | undefined): object =>
  extra === null || extra === undefined ? {} : (parseExactJson(extra) as object);

/** A route's answer before it is put into the envelope. */
export type Served = {
  readonly data: object | JsonText | Refusal;
  readonly headers?: Readonly<Record<string, string>>;
};

export type Asked = { readonly key: MirrorKey; readonly query: Query; readonly now: EpochMs };

export type BillsDeps = {
  readonly read: Read;
  readonly readAtOnce: ReadAtOnce;
  readonly ledgers: KnownLedgers;
  readonly maxAgeMs: number;
};

// Above this many rows the client is taken for ccxt, which asks for 1,000 and pages by a field of
// the rows.
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
    json: wireBill,
    coin: coin ?? marginCoin,
    onlyFunding: rest.onlyFunding === "yes",
    cursor: rest.idLessThan,
    limit,
  });
  if ("data" in page) return page;
  const { endId, headers } = page;
  const bills = wireRows(page, limit > plainPageMax ? { endId } : {});
  return { data: new JsonText(`{"bills":${bills},"endId":"${endId}"}`), headers };
}

/** Get Financial Records: the bills of a unified account. */
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
    json: wireRecord(productType),
    businessType: asked.type,
    onlyFunding: false,
    limit: Number(asked.limit ?? recordsDefault),
  });
  if ("data" in page) return page;
  const { endId, headers } = page;
  return { data: new JsonText(`{"list":${wireRows(page)},"cursor":"${endId}"}`), headers };
}

/** The JSON of a bill of the spot wallet. */
const wireSpotBill = sql`format(
        '{"billId":%s,"coin":%s,"groupType":%s,"businessType":%s,"size":"%s","balance":"%s","fees":"%s","cTime":"%s"}',
        to_json(bill_id), to_json(coin), to_json(${typeGroup}), to_json(${typeName}), amount, balance, fee, ${timeMs}
      )`;

/** The JSON of a record of the funding wallet. */
const wireFundingRecord = sql`format(
        '{"id":%s,"coin":%s,"groupType":%s,"type":%s,"amount":"%s","balance":"%s","ts":"%s"}',
        to_json(bill_id), to_json(coin), to_json(${typeGroup}), to_json(${typeName}), amount, balance, ${timeMs}
      )`;

/** Get Account Bills of the spot wallet: the data is the list. */
export async function serveSpotBills(deps: BillsDeps, { key, query, now }: Asked): Promise<Served> {
  const asked = readQuery(spotBillsQuery, query);
  if (asked instanceof Refusal) return { data: asked };
  const page = await servePage(deps, {
    key,
    now,
    ...asked,
    productType: spotWallet,
    json: wireSpotBill,
    onlyFunding: false,
    cursor: asked.idLessThan,
    limit: Number(asked.limit ?? recordsDefault),
  });
  if ("data" in page) return page;
  return { data: new JsonText(wireRows(page)), headers: page.headers };
}

/** Get Funding Financial Records: the funding wallet of a unified account. */
export async function serveFunding(deps: BillsDeps, { key, query, now }: Asked): Promise<Served> {
  const asked = readQuery(fundingQuery, query);
  if (asked instanceof Refusal) return { data: asked };
  const page = await servePage(deps, {
    key,
    now,
    ...asked,
    productType: fundingWallet,
    json: wireFundingRecord,
    businessType: asked.type,
    onlyFunding: false,
    limit: Number(asked.limit ?? recordsDefault),
  });
  if ("data" in page) return page;
  const { endId, headers } = page;
  return { data: new JsonText(`{"list":${wireRows(page)},"cursor":"${endId}"}`), headers };
}

type PageAsked = {
  readonly key: MirrorKey;
  readonly now: EpochMs;
  readonly productType: ProductType;
  /** The JSON of one row. */
  readonly json: SQL;
  readonly symbol?: string | undefined;
  readonly coin?: string | undefined;
  readonly businessType?: string | undefined;
  readonly groupType?: string | undefined;
  readonly onlyFunding: boolean;
  readonly cursor?: string | undefined;
  readonly startTime?: string | undefined;
  readonly endTime?: string | undefined;
  readonly limit: number;
};

type Page = Pick<BillPage, "json" | "extras"> & {
  /** Empty if no bill is older. */
  readonly endId: string;
  readonly headers: Readonly<Record<string, string>>;
};

/**
 * A page, or the reason why it is refused. A page never ends before unread time, or skips over it,
 * without saying so.
 */
async function servePage(deps: BillsDeps, asked: PageAsked): Promise<Page | Served> {
  const { key, now, productType, cursor } = asked;
  const stream: Stream = { account: key.account, productType };
  if (key.productTypes !== undefined && !key.productTypes.includes(productType))
    return { data: notOfKey(key, productType) };
  const { times, page } = await readSeen(deps, stream, asked);
  const { json, extras, count, oldest, below } = page;
  const begin = times.coverage.length === 0 ? undefined : times.beginsAt;
  if (begin === undefined && key.gaps !== "allow")
    return { data: await deps.read((tx) => refuseUnread(tx, stream)) };
  if (cursor !== undefined && below === undefined) return { data: unknownCursor(productType) };
  const holes = holesOf(times, { now, maxAgeMs: deps.maxAgeMs });
  const headers = completenessHeaders(times, holes);
  const reached = count === asked.limit && oldest !== undefined ? oldest.time : begin;
  const { from, to } = spanOf(asked, begin);
  const span = {
    from: from ?? reached ?? epochMs(Number.NEGATIVE_INFINITY),
    to: epochMs(Math.min(to ?? Number.POSITIVE_INFINITY, below ?? Number.POSITIVE_INFINITY) + 1),
  };
  const refusal = key.gaps === "allow" ? undefined : refuseHoles(stream, holesWithin(holes, span));
  if (refusal !== undefined) return { data: refusal, headers };
  return { json, extras, endId: oldest?.billId ?? "", headers };
}

/**
 * Reads a page and its ledger's times as of one moment. The times are read again only if they have
 * changed.
 */
async function readSeen(
  { read, readAtOnce, ledgers }: BillsDeps,
  stream: Stream,
  asked: PageAsked,
): Promise<{ readonly times: VersionedTimes; readonly page: BillPage }> {
  const readPage = (execute: Execute, times: VersionedTimes | undefined) =>
    readBillPage(execute, {
      ...{ json: asked.json, limit: asked.limit, onlyFunding: asked.onlyFunding },
      ...{ symbol: asked.symbol, coin: asked.coin, businessType: asked.businessType },
      groupType: asked.groupType,
      ...spanOf(asked, times?.beginsAt),
      stream,
      below: asked.cursor,
    });
  const kept = ledgers.kept(stream);
  const page = await readPage(readAtOnce, kept);
  if (kept !== undefined && kept.version === page.version) return { times: kept, page };
  return read(async (tx) => {
    const times = await ledgers.read(tx, stream, asked.now);
    return { times, page: await readPage((statement) => tx.execute(statement), times) };
  });
}

/**
 * The requested span. A client that loops over a year begins before the ledger does: a key with
 * `trim` gets empty pages there.
 */
function spanOf({ key, startTime, endTime }: PageAsked, begin: EpochMs | undefined) {
  const from = askedTime(startTime);
  const isTrimmed = from !== undefined && key.gaps === "trim";
  return {
    from: isTrimmed ? epochMs(Math.max(from, begin ?? from)) : from,
    to: askedTime(endTime),
  };
}

const askedTime = (digits: string | undefined): EpochMs | undefined =>
  digits === undefined ? undefined : epochMs(Number(digits));

const notOfKey = ({ name }: MirrorKey, productType: ProductType) =>
  new Refusal(400, "40014", `Incorrect permissions: the key ${name} does not read ${productType}`);

const unknownCursor = (productType: ProductType) =>
  new Refusal(
    400,
    "40020",
    `Parameter ${isOfUnifiedAccount(productType) ? "cursor" : "idLessThan"} error: no such bill is stored`,
  );
