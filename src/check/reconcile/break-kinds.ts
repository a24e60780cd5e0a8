import type { Columns } from "../../output/result.ts";
import { formatCounted, formatDuration } from "../../output/text.ts";

/** What can be wrong with a ledger, by what somebody does next: see `explanation` for what the check saw. */
export const breakKinds = {
  balance:
    "a balance is not what the bills up to it explain, or the exchange says that the wallet holds another one",
  unread: "a balance is not what the bills up to it explain, and time between them is unread",
  transfer: "the two legs of a transfer are of different amounts",
  ltv: "the figures of a loan-to-value record contradict each other",
  lost: "time that was not read, and that the exchange does not serve any more",
  restated: "stored bills were served again with other content since they were last accepted",
} as const;

export type BreakKind = keyof typeof breakKinds;

/** A restated bill is a notice, and no fault of the ledger. */
export const isFault = ({ kind }: { readonly kind: BreakKind }): boolean => kind !== "restated";

type Discrepancy = {
  readonly kind: string;
  /** What was observed minus what was expected, as a decimal. */
  readonly difference: string | null;
  /** A coin, ms or bills; null where figures of a record differ. */
  readonly unit: string | null;
};

/** What a break is of, and which way it lies: as true of a missing bill as of one that is there twice. */
export function discrepancyText({ kind, difference, unit }: Discrepancy): string | null {
  if (difference === null) return null;
  const size = difference.replace("-", "");
  if (unit === "ms") return formatDuration(Number(size));
  if (unit === "bills") return formatCounted(Number(size), "bill");
  const amount = `${[size, unit ?? ""].join(" ").trim()} ${size === difference ? "higher" : "lower"}`;
  if (kind === "transfer") return `what arrived is ${amount} than what was sent`;
  if (kind === "ltv") return `the record is ${amount} than its parts explain`;
  return `the balance is ${amount} than the bills explain`;
}

/** Of what, since when and by how much. */
export const discrepancyColumns: Columns<
  Discrepancy & { readonly coin: string; readonly happenedAt: string | null }
> = {
  coin: { kind: "text", of: ({ coin }) => coin || null },
  happenedAt: { kind: "instant", title: "happened", of: ({ happenedAt }) => happenedAt },
  difference: { kind: "amount", title: "", of: ({ difference }) => difference },
  unit: { kind: "value", of: ({ unit }) => unit },
  discrepancy: { kind: "text", isForPeople: true, of: discrepancyText },
};
