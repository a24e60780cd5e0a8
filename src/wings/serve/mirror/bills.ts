import { accountBills } from "../../../core/contract/account-bills.ts";
import { parseExactJson } from "../../../core/contract/json.ts";
import { isOfUnifiedAccount, type ProductType } from "../../../core/contract/product-types.ts";
import type { Execute } from "../../../core/postgres/connect.ts";
import { Refusal } from "../../../core/server/answer.ts";
import type { Ledger } from "../../../core/words/ledger.ts";
import { type EpochMs, epochMs } from "../../../lib/time.ts";
import { JsonText, type Served } from "../send-envelope.ts";
import type { Admitted } from "./access.ts";
import type { MirrorKey } from "./key-file.ts";
import {
  completenessHeaders,
  holesOf,
  holesWithin,
  type MirrorDeps,
  refuseHoles,
  refuseUnread,
  type ServedTimes,
} from "./ledger-time.ts";
import type { Listing, Question } from "./listings.ts";
import { type BillPage, readBillPage, rowSeparator } from "./read-bill-page.ts";

// Above this many rows the client is taken for ccxt, which asks for 1,000 and pages by a field of
// the rows.
const plainPageMax = 100;

/**
 * A page of bills, or the reason why it is refused. A page never ends before unread time, or skips over it,
 * without saying so.
 */
export async function serveBills(
  { path, productTypeOf, usualRows, json, dataOf }: Listing,
  query: Question,
  { key, now }: Admitted,
  deps: MirrorDeps,
): Promise<Served> {
  const { coin, marginCoin } = query;
  if (coin !== undefined && marginCoin !== undefined && coin !== marginCoin)
    return { data: new Refusal(400, "40020", "Parameter marginCoin is not coin") };
  const productType = productTypeOf(query);
  const ledger: Ledger = { account: key.account, productType };
  if (key.productTypes !== undefined && !key.productTypes.includes(productType))
    return { data: notOfKey(key, productType) };
  const limit = Number(query.limit ?? usualRows);
  const cursor = query.idLessThan ?? query.cursor;
  const spanFrom = (begin: EpochMs | undefined) => spanOf(query, key, begin);
  const { times, page } = await readSeen(deps, { ledger, now }, (execute, begin) =>
    readBillPage(execute, {
      ...{ ledger, limit, json: json(productType), below: cursor, ...spanFrom(begin) },
      ...{ symbol: query.symbol, coin: coin ?? marginCoin, groupType: query.groupType },
      businessType: query.businessType ?? query.type,
      onlyFunding: query.onlyFunding === "yes",
    }),
  );
  const { count, oldest, below } = page;
  const begin = times.coverage.length === 0 ? undefined : times.beginsAt;
  if (begin === undefined && key.incomplete !== "allow")
    return { data: await deps.read((tx) => refuseUnread(tx, ledger)) };
  if (cursor !== undefined && below === undefined) return { data: unknownCursor(productType) };
  const holes = holesOf(times, { now, maxAgeMs: deps.limits.maxAgeMs });
  const headers = completenessHeaders(times, holes);
  const reached = count === limit && oldest !== undefined ? oldest.time : begin;
  const { from, to } = spanFrom(begin);
  const span = {
    from: from ?? reached ?? epochMs(Number.NEGATIVE_INFINITY),
    to: epochMs(Math.min(to ?? Number.POSITIVE_INFINITY, below ?? Number.POSITIVE_INFINITY) + 1),
  };
  const refusal =
    key.incomplete === "allow" ? undefined : refuseHoles(ledger, holesWithin(holes, span));
  if (refusal !== undefined) return { data: refusal, headers };
  const endId = oldest?.billId ?? "";
  const isForCcxt = limit > plainPageMax && path === accountBills.path;
  const rows = wireRows(page, isForCcxt ? { endId } : {});
  return { data: new JsonText(dataOf(rows, endId)), headers };
}

/** The page's rows as a JSON list. @param member added to each row, after its other members. */
function wireRows({ json, extras }: BillPage, member: Readonly<Record<string, string>>): string {
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

/**
 * Reads a page and its ledger's times as of one moment. The times are read again only if they have
 * changed.
 */
async function readSeen(
  { read, readAtOnce, ledgers }: MirrorDeps,
  { ledger, now }: { readonly ledger: Ledger; readonly now: EpochMs },
  readPage: (execute: Execute, begin: EpochMs | undefined) => Promise<BillPage>,
): Promise<{ readonly times: ServedTimes; readonly page: BillPage }> {
  const last = ledgers.last(ledger);
  const page = await readPage(readAtOnce, last?.beginsAt);
  if (last !== undefined && last.version === page.version) return { times: last, page };
  return read(async (tx) => {
    const times = await ledgers.read(tx, ledger, now);
    return { times, page: await readPage((statement) => tx.execute(statement), times.beginsAt) };
  });
}

/**
 * The requested span. A client that loops over a year begins before the ledger does: a key with
 * `trim` gets empty pages there.
 */
function spanOf(
  { startTime, endTime }: Question,
  { incomplete }: MirrorKey,
  begin: EpochMs | undefined,
) {
  const from = askedTime(startTime);
  const isTrimmed = from !== undefined && incomplete === "trim";
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
