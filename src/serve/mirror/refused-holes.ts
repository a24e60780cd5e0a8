import { isoTime, minuteMs, secondMs } from "../../contract/time.ts";
import { Refusal } from "../../exchange-server/source.ts";
import { type Interval, union } from "../../sync/intervals.ts";
import type { Stream } from "../../sync/store.ts";
import type { Hole, LedgerTimes } from "./holes.ts";

// A running sync passes soon, and the next one comes within the hour.
const retryAfterSeconds = String(minuteMs / secondMs);
const listedMax = 10;

/**
 * Refuses a page whose time has holes. The refusal is permanent if a hole is lost, older than everything
 * read, or of a closed ledger. Otherwise the client is to try again later.
 */
export function refuseHoles(stream: Stream, holes: readonly Hole[]): Refusal | undefined {
  const hole = holes.find(isPermanent) ?? holes[0];
  if (hole === undefined) return undefined;
  const msg = `${stream.account}/${stream.productType}: ${reasonOf(hole)}`;
  return isPermanent(hole)
    ? new Refusal(400, "40704", msg)
    : new Refusal(503, "40725", msg, { "retry-after": retryAfterSeconds });
}

/** Whether no later run changes it. */
const isPermanent = ({ kind }: Hole): boolean =>
  kind === "lost" || kind === "before" || kind === "unreadable";

function reasonOf({ kind, span }: Hole): string {
  const name = nameOf(span);
  switch (kind) {
    case "before":
      return (
        `nothing was read before ${isoTime(span.to)}; ask for startTime=${span.to} or later, or use a ` +
        "key that was made with --trim"
      );
    case "lost":
      return (
        `${name} was lost: the exchange had deleted it before it was read; ask for the time on one ` +
        "side of it, or use a key that was made with --allow-gaps"
      );
    case "unread":
      return `${name} is not read yet; a sync reads it, try again after the next`;
    case "unreadable":
      return (
        `${name} was not read before the account became of the other kind; ask for another time, or use a ` +
        "key that was made with --allow-gaps"
      );
    case "stale":
      return `${name} is not read yet, and no sync has run for long; run sync, and try again`;
    case "rejected":
      return (
        `a row of ${name} broke the contract and is not among the bills; the next sync tries it again, and ` +
        "bill-sync breaks accept accepts it"
      );
    default:
      return kind satisfies never;
  }
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
  { coverage, lost }: LedgerTimes,
  holes: readonly Hole[],
): Readonly<Record<string, string>> {
  const gaps = holes.filter(({ kind }) => kind !== "before" && kind !== "stale");
  const [first] = coverage;
  const [settled] = union([...coverage, ...lost]);
  const more = gaps.length - listedMax;
  const listed = gaps.slice(0, listedMax).map(({ span }) => `${edge(span.from)}/${edge(span.to)}`);
  return {
    ...(first !== undefined && { "x-complete-from": isoTime(first.from) }),
    // Up to this time, everything that is missing is among the gaps.
    ...(settled !== undefined && { "x-complete-through": isoTime(settled.to) }),
    "x-gaps": [...listed, ...(more > 0 ? [`and ${more} more`] : [])].join(", "),
  };
}

const edge = (time: Interval["from"]): string => (Number.isFinite(time) ? isoTime(time) : "..");
