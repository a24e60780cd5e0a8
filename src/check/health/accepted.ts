import { sql } from "drizzle-orm";
import type { Queryable } from "../../core/postgres/connect.ts";
import { isOneOf, textArray, timeOf } from "../../core/postgres/values.ts";
import { printableLine } from "../../lib/printable.ts";
import { formatDuration } from "../../output/text.ts";
import { type FindingScope, isWithinSpan, withWallets } from "./finding-rows.ts";

/** What is complete with a reservation: accepted discrepancies and losses, and recovered bills. */
export type Accepted = {
  /** The sums of accepted differences; decimals as text. */
  readonly differences: readonly { readonly coin: string; readonly difference: string }[];
  readonly lostMs: number;
  /** Whether some of the bills are from tax records, of time before the exchange's 90 days. */
  readonly isRecovered: boolean;
};

export async function readAccepted(
  db: Queryable,
  { accounts, productTypes, span }: Pick<FindingScope, "accounts" | "productTypes" | "span">,
): Promise<Accepted> {
  const wallets = withWallets(productTypes);
  const { rows } = await db.execute<{ coin: string; difference: string }>(sql`
    select coin, sum(abs(difference))::text as difference
    from (
      select account, ledger, coin, difference
      from ledger_breaks
      where state = 'accepted'
        and difference <> 0
        and (coin <> '' or kind = 'lost')
        and ${isOneOf(accounts)}
        and ${wallets === undefined ? sql`true` : sql`ledger = any(${textArray([...wallets, ""])}::text[])`}
        and ${isWithinSpan(sql`happened_at`, span)}
    ) as accepted
    group by coin
    order by coin`);
  const { rows: recovered } = await db.execute(sql`
    select product_type
    from ledgers
    where recovered && tstzrange(${span?.from === undefined ? sql`null` : timeOf(span.from)}, ${span?.to === undefined ? sql`null` : timeOf(span.to)})
      and retired_at is null
      and ${isOneOf(accounts)}
      and ${isOneOf(productTypes, "product_type")}
    limit 1`);
  return {
    isRecovered: recovered.length > 0,
    differences: rows.filter(({ coin }) => coin !== ""),
    lostMs: Number(rows.find(({ coin }) => coin === "")?.difference ?? 0),
  };
}

/** The accepted discrepancies and losses in words; empty if there are none. */
export function acceptedParts({
  differences = [],
  lostMs = 0,
  isRecovered = false,
}: Partial<Accepted> = {}) {
  const sums = differences.map(({ coin, difference }) => `${difference} ${printableLine(coin)}`);
  return [
    ...(sums.length === 0 ? [] : [`accepted differences of ${sums.join(", ")}`]),
    ...(lostMs === 0 ? [] : [`accepted lost time of ${formatDuration(lostMs)}`]),
    ...(isRecovered ? ["bills recovered from tax records"] : []),
  ];
}
