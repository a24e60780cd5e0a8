import type { EpochMs } from "../contract/time.ts";
import { printableLine } from "../printable.ts";
import { type Closed, modeOf, type NotAvailable } from "../sync/account-state.ts";
import type { ClosedTime } from "../sync/closed-time.ts";
import type { Stream } from "../sync/store.ts";
import { formatInterval, formatMinute } from "./format.ts";
import { streamName } from "./stream-names.ts";

// What is said of an account's mode, and of what its key may not read.

/** Why a stream was closed: the exchange serves it to accounts of one mode alone. */
export const becameText = ({ productType }: Pick<Closed, "productType">): string =>
  modeOf(productType) === "classic" ? "became unified" : "became classic";

/** That a stream is closed, up to when it is complete, and what of it was not read. */
export function closedLines(
  stream: Stream,
  closedAt: EpochMs,
  { through, unread }: ClosedTime,
): readonly string[] {
  const name = streamName(stream);
  const complete = through === undefined ? "" : `, complete through ${formatMinute(through)}`;
  return [
    `${name}: closed ${formatMinute(closedAt)}: ${becameText(stream)}${complete}`,
    ...unread.map(
      (time) =>
        `${name}: not read ${formatInterval(time)}; it can be had only by switching the account back`,
    ),
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
