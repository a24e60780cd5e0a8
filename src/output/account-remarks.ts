import type { EpochMs } from "../contract/time.ts";
import { printableLine } from "../printable.ts";
import { type Closed, modeOf, type NotAvailable } from "../sync/account-state.ts";
import { behindHorizon, type ClosedTime } from "../sync/closed-streams.ts";
import { subtract } from "../sync/intervals.ts";
import type { Stream } from "../sync/store.ts";
import { formatCount, formatCounted, formatInterval, formatMinute } from "./format.ts";
import { streamNames } from "./stream-names.ts";

// Remarks about an account's mode, and about product types that its key may not read.

/** Why a stream was closed: the exchange serves it to accounts of one mode alone. */
export const becameText = ({ productType }: Pick<Closed, "productType">): string =>
  modeOf(productType) === "classic" ? "became unified" : "became classic";

/** A closed stream, and how far it was read. */
export type ClosedRemark = ClosedTime & { readonly stream: Stream; readonly closedAt: EpochMs };

/**
 * Lines that say which streams are closed, up to when they are complete, and what was not read of them.
 * Streams of an account for which all of this is equal share a line.
 */
export function closedLines(closed: readonly ClosedRemark[]): readonly string[] {
  const byAccount = Map.groupBy(closed, ({ stream }) => stream.account).values();
  return [...byAccount].flatMap((own) => {
    const remarks = own.flatMap((one) => remarksOf(one).map((text) => ({ text, ...one })));
    const alike = Map.groupBy(remarks, ({ text }) => text);
    return [...alike].map(
      ([text, those]) => `${streamNames(those.map(({ stream }) => stream))}: ${text}`,
    );
  });
}

// The most unread times shown to a person for each stream. JSON has all.
const unreadShownMax = 5;

function remarksOf({ stream, closedAt, through, unread }: ClosedRemark): readonly string[] {
  const lost = behindHorizon(unread, closedAt);
  const notRead = [
    ...lost.map((time) => ({ time, why: ": lost, since it is older than the exchange's 90 days" })),
    ...subtract(unread, lost).map((time) => ({
      time,
      why: "; it can be read only after the account is switched back",
    })),
  ];
  const more = notRead.length - unreadShownMax;
  const complete = through === undefined ? "" : `, complete through ${formatMinute(through)}`;
  return [
    `closed ${formatMinute(closedAt)}: ${becameText(stream)}${complete}`,
    ...notRead
      .slice(0, unreadShownMax)
      .map(({ time, why }) => `not read ${formatInterval(time)}${why}`),
    ...(more > 0 ? [`not read at ${formatCounted(more, "other time")}: see --json`] : []),
  ];
}

/** A line for each reason why an account's key may not read product types. */
export function notAvailableLines(
  account: string,
  notAvailable: readonly Pick<NotAvailable, "productType" | "reason">[],
): readonly string[] {
  const byReason = Map.groupBy(notAvailable, ({ reason }) => reason);
  return [...byReason].map(
    ([reason, types]) =>
      `${printableLine(account)}: not available to its key: ` +
      `${types.map(({ productType }) => productType).join(", ")}: ${printableLine(reason)}`,
  );
}

/** An account whose rows cannot be read, and why. */
type Unreachable = { readonly account: string; readonly error: Error };

/** How many accounts a person is shown for each reason. JSON has all. */
const shownMax = 10;

/** A line for each reason why accounts could not be reached. */
export function unreachableLines(unreachable: readonly Unreachable[]): readonly string[] {
  const byReason = Map.groupBy(unreachable, ({ error }) => error.message);
  return [...byReason].map(([message, those]) => {
    const names = those.slice(0, shownMax).map(({ account }) => printableLine(account));
    const more = those.length - shownMax;
    return `${names.join(", ")}${more > 0 ? ` and ${formatCount(more)} more` : ""}: ${message}`;
  });
}
