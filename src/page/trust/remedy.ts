import type { Break } from "../../reconciliation/breaks.ts";
import { horizonAt } from "../../sync/plan.ts";
import { type Facts, readableOf, walletNameOf } from "./facts.ts";

/** What may close a break: reading what is missing, a newer program, a second reading, or a note. */
export type Remedy = "sync" | "replay" | "repair" | "sign off";

/** The remedy of a break. Only a sign-off is left where the exchange's 90 days are over. */
export function remedyOf(
  { kind, account, productType, firstBadBill, happenedAt }: Break,
  { streams, now }: Pick<Facts, "streams" | "now">,
): Remedy {
  if (kind === "quarantine") return "replay";
  if (kind === "unread") {
    const isReadable = streams.some(
      (stream) =>
        stream.stream.account === account &&
        walletNameOf(stream) === productType &&
        readableOf(stream).length > 0,
    );
    if (isReadable) return "sync";
  }
  if (firstBadBill === null || happenedAt === null) return "sign off";
  return Date.parse(happenedAt) <= horizonAt(now) ? "sign off" : "repair";
}
