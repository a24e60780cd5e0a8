import type { EpochMs } from "../contract/time.ts";
import { printableLine } from "../printable.ts";
import { type Closed, modeOf, type NotAvailable } from "../sync/account-state.ts";
import type { ClosedTime } from "../sync/closed-time.ts";
import type { Stream } from "../sync/store.ts";
import { formatInterval, formatMinute } from "./format.ts";
import { streamNames } from "./stream-names.ts";

// What is said of an account's mode, and of what its key may not read.

/** Why a stream was closed: the exchange serves it to accounts of one mode alone. */
export const becameText = ({ productType }: Pick<Closed, "productType">): string =>
  modeOf(productType) === "classic" ? "became unified" : "became classic";

/** A stream that is closed, and what is left of it. */
export type ClosedRemark = ClosedTime & { readonly stream: Stream; readonly closedAt: EpochMs };

/**
 * That streams are closed, up to when they are complete, and what of them was not read: a line for
 * those of an account of which the same is true.
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

function remarksOf({ stream, closedAt, through, unread }: ClosedRemark): readonly string[] {
  const complete = through === undefined ? "" : `, complete through ${formatMinute(through)}`;
  return [
    `closed ${formatMinute(closedAt)}: ${becameText(stream)}${complete}`,
    ...unread.map(
      (time) =>
        `not read ${formatInterval(time)}; it can be had only by switching the account back`,
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
