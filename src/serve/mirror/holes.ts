import { epochMs, isoTime, minuteMs, secondMs } from "../../contract/time.ts";
import { Refusal } from "../../exchange-server/source.ts";
import type { HoleKind } from "../../health/kinds.ts";
import type { StoredTimes } from "../../health/ledger-status.ts";
import { type Interval, intersect, interval, subtract, union } from "../../sync/intervals.ts";
import type { Stream } from "../../sync/store.ts";

/** What the judge knows of a ledger's time, with the times of its rejected rows; undefined where a row has none. */
export type LedgerTimes = StoredTimes & { readonly rejectedTimes: readonly (number | undefined)[] };

/** A hole of the judge, by its finding's kind, or time that is no finding of stored bills. */
type Reason = Exclude<HoleKind, "never-read"> | "before" | "recovered";

const elsewhere = "ask for other time, or use a key that was made with --allow-gaps";

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
    text: (name) => `${name} was recovered from tax records, which show no balances; ${elsewhere}`,
  },
  unread: { text: (name) => `${name} is not read yet; a sync reads it, try again after the next` },
  /** Of a retired ledger, too, which is no finding. */
  unreadable: {
    isPermanent: true,
    text: (name) =>
      `${name} was not read, and no sync will: the ledger is closed or retired; ${elsewhere}`,
  },
  behind: {
    text: (name) =>
      `${name} is not read yet, and no sync has run for long; run sync, and try again`,
  },
  rejected: {
    text: (name) =>
      `a row of ${name} broke the contract and is not among the bills; the next sync tries it again, and ` +
      "bill-sync breaks accept accepts it",
  },
};

export type Hole = { readonly kind: Reason; readonly span: Interval };

const [never, ever] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];

/** All spans of a ledger's time, up to now, about which an answer would be incomplete. */
export function holesOf(
  { coverage, lost, recovered, unproven, unread, beginsAt, state, rejectedTimes }: LedgerTimes,
  { now, maxAgeMs }: { readonly now: number; readonly maxAgeMs: number },
): readonly Hole[] {
  const holes = (kind: Hole["kind"], spans: readonly Interval[]) =>
    spans.map((span): Hole => ({ kind, span }));
  if (beginsAt === undefined) return holes("unread", interval(never, ever));
  // A walk goes from the newest bill down. Of what lies above its first page nothing is claimed, until it is old.
  const readTo = union([...coverage, ...lost, ...recovered, ...unproven]).at(-1)?.to ?? beginsAt;
  const isEnded = state === "retired" || state === "closed";
  const newest = interval(readTo, ever);
  return [
    ...holes("before", interval(never, Math.min(beginsAt, unread[0]?.from ?? beginsAt))),
    ...holes("lost", lost),
    ...holes("recovered", intersect(recovered, interval(beginsAt, ever))),
    ...holes(isEnded ? "unreadable" : "unread", isEnded ? unread : subtract(unread, newest)),
    ...(state === "retired" ? holes("unreadable", newest) : []),
    ...(!isEnded && now - readTo > maxAgeMs ? holes("behind", newest) : []),
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
export function refuseHoles(stream: Stream, holes: readonly Hole[]): Refusal | undefined {
  const hole = holes.find(({ kind }) => reasons[kind].isPermanent) ?? holes[0];
  if (hole === undefined) return undefined;
  const { isPermanent = false, text } = reasons[hole.kind];
  const msg = `${stream.account}/${stream.productType}: ${text(nameOf(hole.span), hole.span)}`;
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
  { coverage, completeThrough }: LedgerTimes,
  holes: readonly Hole[],
): Readonly<Record<string, string>> {
  const gaps = holes.filter(({ kind }) => kind !== "before" && kind !== "behind");
  const [first] = coverage;
  const more = gaps.length - listedMax;
  const listed = gaps.slice(0, listedMax).map(({ span }) => `${edge(span.from)}/${edge(span.to)}`);
  return {
    ...(first !== undefined && { "x-complete-from": isoTime(first.from) }),
    // Up to this time, everything that is missing is among the gaps.
    ...(completeThrough !== undefined && { "x-complete-through": isoTime(completeThrough) }),
    "x-gaps": [...listed, ...(more > 0 ? [`and ${more} more`] : [])].join(", "),
  };
}

const edge = (time: Interval["from"]): string =>
  Number.isFinite(time) ? isoTime(epochMs(time)) : "..";
