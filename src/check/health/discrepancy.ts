import { type SQL, sql } from "drizzle-orm";
import { differenceUnits } from "../../core/views/views.ts";
import type { Columns } from "../../output/result.ts";
import { formatCounted, formatDuration } from "../../output/text.ts";

type Discrepancy = {
  /** A break's. */
  readonly kind: string;
  readonly coin: string;
  /** What was observed minus what was expected, as a decimal in the unit of {@link unitOf}. */
  readonly difference: string | null;
};

/** The unit of a break's difference: a coin, ms or bills; null for a ratio. */
export function unitOf({ kind, coin }: Pick<Discrepancy, "kind" | "coin">): string | null {
  const unit = differenceUnits[kind];
  return unit === undefined ? coin || null : unit;
}

/** What a break is of, and which way it lies: as true of a missing bill as of one that is there twice. */
export function discrepancyText(discrepancy: Discrepancy): string | null {
  const { kind, difference } = discrepancy;
  if (difference === null) return null;
  const size = difference.replace("-", "");
  if (kind === "lost") return formatDuration(Number(size));
  if (kind === "rows-gone" || kind === "restatement") return formatCounted(Number(size), "bill");
  const amount = `${[size, unitOf(discrepancy) ?? ""].join(" ").trim()} ${size === difference ? "higher" : "lower"}`;
  if (kind === "transfer") return `what arrived is ${amount} than what was sent`;
  if (kind.startsWith("ltv-")) return `the record is ${amount} than its parts explain`;
  return `the balance is ${amount} than the bills explain`;
}

/** Of what, since when and by how much. */
export const discrepancyColumns: Columns<Discrepancy & { readonly happenedAt: string | null }> = {
  coin: { kind: "text", of: ({ coin }) => coin || null },
  happenedAt: { kind: "instant", title: "happened", of: ({ happenedAt }) => happenedAt },
  difference: { kind: "amount", title: "", of: ({ difference }) => difference },
  unit: { kind: "value", of: unitOf },
  discrepancy: { kind: "text", isForPeople: true, of: discrepancyText },
};

/** The same of a balance, in a statement. */
export const balanceDiscrepancy = (difference: SQL, coin: SQL): SQL => sql`
                'the balance is ' || abs(${difference}) || ' ' || ${coin}
                  || case when ${difference} < 0 then ' lower' else ' higher' end || ' than the bills explain'`;
