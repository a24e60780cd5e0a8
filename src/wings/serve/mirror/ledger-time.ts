import { sql } from "drizzle-orm";
import type { HoleKind } from "../../../check/health/finding-kinds.ts";
import { readLedgerTimes, type StoredTimes } from "../../../check/health/ledger-status.ts";
import { billsApiOf } from "../../../core/contract/bills-api.ts";
import { parseExactJson } from "../../../core/contract/json.ts";
import type { Queryable } from "../../../core/postgres/connect.ts";
import { onlyRow } from "../../../core/postgres/values.ts";
import { Refusal } from "../../../core/server/answer.ts";
import { isOpenRejection } from "../../../core/store/rejected-bills.ts";
import { type AccountMode, modeOf } from "../../../core/words/account-state.ts";
import {
  type Interval,
  intersect,
  interval,
  subtract,
  union,
} from "../../../core/words/intervals.ts";
import type { Ledger } from "../../../core/words/ledger.ts";
import { type EpochMs, epochMs, isoTime, minuteMs, secondMs } from "../../../lib/time.ts";
import type { ServeDeps } from "../route-group.ts";
import { ledgerVersion } from "./read-bill-page.ts";

/** What the judge knows of a ledger's time. */
export type ServedTimes = StoredTimes & {
  /** The times of its rejected rows; undefined where a row has none. */
  readonly rejectedTimes: readonly (number | undefined)[];
  /** Of the rows that this was read from. */
  readonly version: string;
};

export type MirrorDeps = ServeDeps & { readonly ledgers: ReturnType<typeof createLedgerCache> };

/** What was last read about each ledger. It is read again once the ledger's version differs. */
export function createLedgerCache() {
  const ledgers = new Map<string, ServedTimes>();
  const nameOf = ({ account, productType }: Ledger) => `${account}/${productType}`;
  return {
    /** The times as last read; undefined if they never were. */
    last: (ledger: Ledger): ServedTimes | undefined => ledgers.get(nameOf(ledger)),
    /** Reads the times as of the transaction. */
    async read(tx: Queryable, ledger: Ledger, now: EpochMs): Promise<ServedTimes> {
      const times = {
        ...(await readLedgerTimes(tx, [ledger], now)).of(ledger),
        version: await readVersion(tx, ledger),
        rejectedTimes: await readRejectedTimes(tx, ledger),
      };
      ledgers.set(nameOf(ledger), times);
      return times;
    },
  };
}

async function readVersion(tx: Queryable, ledger: Ledger): Promise<string> {
  const { rows } = await tx.execute<{ version: string }>(sql`
    select ${ledgerVersion(ledger)} as version`);
  return onlyRow(rows, "a ledger's version").version;
}

async function readRejectedTimes(tx: Queryable, { account, productType }: Ledger) {
  const { rows } = await tx.execute<{ received: string }>(sql`
    select received
    from rejected_bills
    where account = ${account}
      and product_type = ${productType}
      and ${isOpenRejection}`);
  const { timeOf } = billsApiOf(productType);
  return rows.map(({ received }) => timeOf(parseExactJson(received)));
}

/** The mode of an account's stored ledgers; undefined if there are none, or some of both modes. */
export async function storedMode(
  tx: Queryable,
  account: string,
): Promise<AccountMode | "both" | undefined> {
  const { rows } = await tx.execute<{ productType: Ledger["productType"] }>(sql`
    select product_type as "productType"
    from ledgers
    where account = ${account}
      and first_unread_at is not null`);
  const modes = new Set(rows.map(({ productType }) => modeOf(productType)));
  return modes.size > 1 ? "both" : [...modes][0];
}

/**
 * The refusal for a ledger of which nothing was read. It uses the exchange's own code and message
 * where the reason is known.
 */
export async function refuseUnread(
  tx: Queryable,
  { account, productType }: Ledger,
): Promise<Refusal> {
  const mode = modeOf(productType);
  const stored = await storedMode(tx, account);
  if (stored !== undefined && stored !== "both" && stored !== mode) return refusedMode(mode);
  return new Refusal(
    503,
    "40725",
    stored === undefined
      ? `nothing is stored of the account ${account}; let sync read it, or use a key for its new name`
      : `${account}/${productType}: nothing of it was read to its end yet; let sync read it, and try again`,
    { "retry-after": "60" },
  );
}

export const refusedMode = (mode: AccountMode): Refusal =>
  mode === "classic"
    ? new Refusal(400, "40085", "The account is in Unified Account mode: it has no classic bills")
    : new Refusal(
        400,
        "40084",
        "The account is in Classic Account mode: it has no unified records",
      );

/**
 * A hole of the judge, by its finding's kind, or time that is no finding of stored bills. Time that was recovered in
 * part lies before everything that is served, or in lost time.
 */
type Reason =
  | Exclude<HoleKind, "never-read" | "partly-recovered">
  | "before"
  | "recovered"
  | "over";

const elsewhere = "ask for another time, or use a key that was made with --allow-incomplete";

/** Why a span of time cannot be answered; `isPermanent` where no later run changes it. */
const reasons: Readonly<
  Record<
    Reason,
    { readonly isPermanent?: true; readonly text: (name: string, span: Interval) => string }
  >
> = {
  /** Older than everything that was ever to be read. */
  before: {
    isPermanent: true,
    text: (_, { to }) =>
      `nothing was read before ${isoTime(to)}; ask for startTime=${to} or later, or use a ` +
      "key that was made with --trim",
  },
  lost: {
    isPermanent: true,
    text: (name) =>
      `${name} was lost: the exchange had deleted it before it was read; ${elsewhere}`,
  },
  recovered: {
    isPermanent: true,
    text: (name) =>
      `${name} was recovered from tax records, which lack coupons and classic balances; ${elsewhere}`,
  },
  unread: { text: (name) => `${name} is not read yet; a sync reads it, try again after the next` },
  over: {
    isPermanent: true,
    text: (name) =>
      `${name} was not read, and no sync will: the ledger has ended or is retired; ${elsewhere}`,
  },
  behind: {
    text: (name) =>
      `${name} is not read yet, and no sync has run for long; run sync, and try again`,
  },
  rejected: {
    text: (name) =>
      `a row of ${name} broke the API's contract and is not among the bills; the next sync tries it again, and ` +
      "bill-sync breaks accept accepts it",
  },
};

type Hole = { readonly kind: Reason; readonly span: Interval };

const [never, ever] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];

/** All spans of a ledger's time, up to now, about which an answer would be incomplete. */
export function holesOf(
  {
    coverage,
    openLost,
    recovered,
    unfinished,
    unread,
    beginsAt,
    state,
    rejectedTimes,
  }: ServedTimes,
  { now, maxAgeMs }: { readonly now: number; readonly maxAgeMs: number },
): readonly Hole[] {
  const holes = (kind: Hole["kind"], spans: readonly Interval[]) =>
    spans.map((span): Hole => ({ kind, span }));
  if (beginsAt === undefined) return holes("unread", interval(never, ever));
  // A walk goes from the newest bill down. Of what lies above its first page nothing is claimed, until it is old.
  const readTo =
    union([...coverage, ...openLost, ...recovered, ...unfinished]).at(-1)?.to ?? beginsAt;
  const isOver = state === "retired" || state === "ended";
  const newest = interval(readTo, ever);
  return [
    ...holes("before", interval(never, Math.min(beginsAt, unread[0]?.from ?? beginsAt))),
    ...holes("lost", openLost),
    ...holes("recovered", intersect(recovered, interval(beginsAt, ever))),
    ...holes(isOver ? "over" : "unread", isOver ? unread : subtract(unread, newest)),
    ...(state === "retired" ? holes("over", newest) : []),
    ...(!isOver && now - readTo > maxAgeMs ? holes("behind", newest) : []),
    ...rejectedTimes.flatMap((time) =>
      holes(
        "rejected",
        time === undefined ? interval(beginsAt, Math.max(readTo, now)) : interval(time, time + 1),
      ),
    ),
  ];
}

/** The parts of holes that lie within a span, oldest first. */
export const holesWithin = (holes: readonly Hole[], { from, to }: Interval): readonly Hole[] =>
  holes
    .flatMap(({ kind, span }) =>
      intersect([span], interval(from, to)).map((part): Hole => ({ kind, span: part })),
    )
    .toSorted((a, b) => a.span.from - b.span.from);

// A running sync passes soon, and the next one comes within the hour.
const retryAfterSeconds = String(minuteMs / secondMs);
const listedMax = 10;

/** Refuses a page whose time has holes: for good if a hole is permanent, otherwise for now. */
export function refuseHoles(ledger: Ledger, holes: readonly Hole[]): Refusal | undefined {
  const hole = holes.find(({ kind }) => reasons[kind].isPermanent) ?? holes[0];
  if (hole === undefined) return undefined;
  const { isPermanent = false, text } = reasons[hole.kind];
  const msg = `${ledger.account}/${ledger.productType}: ${text(nameOf(hole.span), hole.span)}`;
  return isPermanent
    ? new Refusal(400, "40704", msg)
    : new Refusal(503, "40725", msg, { "retry-after": retryAfterSeconds });
}

function nameOf({ from, to }: Interval): string {
  if (Number.isFinite(from))
    return Number.isFinite(to)
      ? `${isoTime(from)} to ${isoTime(to)}`
      : `the time since ${isoTime(from)}`;
  return Number.isFinite(to) ? `the time before ${isoTime(to)}` : "all of it";
}

/** Headers that describe how complete a ledger's time is, whatever part of it is served. */
export function completenessHeaders(
  { coverage, acceptedLost, readThrough }: ServedTimes,
  holes: readonly Hole[],
): Readonly<Record<string, string>> {
  const listable = [
    ...holes.filter(({ kind }) => kind !== "before" && kind !== "behind"),
    // It refuses no request, but a client must know of it.
    ...acceptedLost.map((span) => ({ span })),
  ];
  const [first] = coverage;
  const more = listable.length - listedMax;
  const listed = listable
    .slice(0, listedMax)
    .map(({ span }) => `${edge(span.from)}/${edge(span.to)}`);
  return {
    ...(first !== undefined && { "x-read-from": isoTime(first.from) }),
    // Up to this time, all incomplete time is listed.
    ...(readThrough !== undefined && { "x-read-through": isoTime(readThrough) }),
    "x-incomplete": [...listed, ...(more > 0 ? [`and ${more} more`] : [])].join(", "),
  };
}

const edge = (time: Interval["from"]): string =>
  Number.isFinite(time) ? isoTime(epochMs(time)) : "..";
