import type { Break } from "../../reconciliation/breaks.ts";
import type { StreamStatus } from "../../reports/status.ts";
import { horizonAt } from "../../sync/plan.ts";
import {
  chainOf,
  type Facts,
  isNotice,
  lostOf,
  missingOf,
  readableOf,
  walletNameOf,
} from "./facts.ts";

/**
 * What may close a break: reading what is missing, a newer program, a second reading, another check
 * where its cause is gone, or a note.
 */
export type Remedy = "sync" | "replay" | "repair" | "check" | "sign off";

type Known = Pick<Facts, "status" | "chains" | "demoChains" | "now">;

/** The remedy of a break. Only a sign-off is left where the exchange's 90 days are over. */
export function remedyOf(entry: Break, facts: Known): Remedy {
  const { kind, firstBadBill, happenedAt } = entry;
  const own = ledgersOf(entry, facts);
  if (kind === "quarantine") return own.some(({ rejected }) => rejected > 0) ? "replay" : "check";
  if (kind === "unread") {
    if (own.some((stream) => readableOf(stream).length > 0)) return "sync";
    if (wasReadSince(entry, own, facts)) return "check";
  }
  if (firstBadBill === null || happenedAt === null) return "sign off";
  return Date.parse(happenedAt) <= horizonAt(facts.now) ? "sign off" : "repair";
}

/** How bad an open break is. One that lies beside time that can still be read is no more than that. */
export function severityOf(entry: Break, facts: Known): "warn" | "bad" {
  if (isNotice(entry)) return "warn";
  if (entry.kind !== "unread") return "bad";
  const own = ledgersOf(entry, facts);
  if (isBesideLost(entry, facts)) return "bad";
  const isMissing = own.some((stream) => missingOf(stream).length > 0);
  return isMissing || wasReadSince(entry, own, facts) ? "warn" : "bad";
}

/** Whether a balance does not follow in a wallet that has lost time, which explains it. */
export const isBesideLost = (entry: Break, facts: Known): boolean =>
  entry.kind === "unread" && ledgersOf(entry, facts).some((stream) => lostOf(stream).length > 0);

/** Whether neither unread nor lost time explains a break, and it is no notice either. */
export const isUnexplained = (entry: Break, facts: Known): boolean =>
  severityOf(entry, facts) === "bad" && !isBesideLost(entry, facts);

/** Whether nothing of a break's wallet is missing any more, and bills came since it was checked. */
function wasReadSince(entry: Break, own: readonly StreamStatus[], facts: Known): boolean {
  const chain = chainOf(facts, { ...entry, product: entry.productType });
  return (
    (chain?.billsSince ?? 0) > 0 &&
    own.every((stream) => missingOf(stream).length + lostOf(stream).length === 0)
  );
}

/** The ledgers that a break is of: all of a unified account's, whose balance they share. */
const ledgersOf = (
  { account, productType }: Pick<Break, "account" | "productType">,
  { status }: Known,
): readonly StreamStatus[] =>
  status.streams.filter(
    (one) =>
      one.stream.account === account &&
      [one.stream.productType, walletNameOf(one)].includes(productType),
  );
