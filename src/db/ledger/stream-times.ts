import { type SQL, sql } from "drizzle-orm";
import type { Transaction } from "../connect.ts";
import { textArray } from "../sql/array-literal.ts";

/**
 * Writes down what the checkpoints of an account's streams come to, after each change of them but of a
 * cursor, in the same transaction: what is read of a hundred thousand accounts at once is this.
 */
export async function refreshStreamTimes(
  tx: Transaction,
  account: string,
  productTypes: readonly string[],
): Promise<void> {
  await tx.execute(sql`
    insert into stream_times as known (
      account, product_type, covered, lost, open, settled_to, read_at, lost_at, told_at
    )
    select
      ${account},
      product_type,
      covered,
      lost,
      open,
      least((select min(upper(span)) from unnest(covered + lost) as span), lower(open)),
      read_at,
      lost_at,
      told_at
    from (
      select
        wanted.product_type,
        ${union("complete")} as covered,
        ${union("expired")} as lost,
        ${union("open")} as open,
        max(updated_at) filter (where state = 'complete') as read_at,
        max(updated_at) filter (where state = 'expired') as lost_at,
        max(started_at) as told_at
      from unnest(${textArray([...new Set(productTypes)].toSorted())}::text[])
        as wanted (product_type)
      left join checkpoints
        on checkpoints.account = ${account}
        and checkpoints.product_type = wanted.product_type
      group by wanted.product_type
    ) as grouped
    on conflict (account, product_type) do update
    set
      covered = excluded.covered,
      lost = excluded.lost,
      open = excluded.open,
      settled_to = excluded.settled_to,
      read_at = excluded.read_at,
      lost_at = excluded.lost_at,
      told_at = excluded.told_at`);
}

const union = (state: "complete" | "expired" | "open"): SQL => sql`
        coalesce(
          range_agg(tstzrange(window_start, window_end)) filter (where state = ${state}),
          '{}'
        )`;
