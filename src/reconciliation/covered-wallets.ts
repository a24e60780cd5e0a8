import { sql } from "drizzle-orm";
import { unifiedProductTypes } from "../contract/product-types.ts";
import type { Transaction } from "../db/connect.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { bookedMaxOf } from "../db/sql/chain-order.ts";
import { walletOf } from "../db/sql/wallet.ts";
import type { AccountScope } from "./bills-to-check.ts";

/**
 * Collects into `covered_wallets` the time of each wallet that is covered in all of its product types. After
 * `settled_to`, late bills may still come, so a balance that does not follow there is not judged yet.
 *
 * All categories of a unified account share its balance. While one of them was never read, no balance is
 * judged; later, none before `shared_from`, where the coverage of all of them begins. A category that the
 * key may not read does not count. `settled_to` is some seconds before the end of coverage, because bills
 * booked in those seconds may follow bills with later times. Where all streams are closed, no late bill can
 * come: `settled_to` is null, and a balance that does not follow beside unread time is reported as such.
 */
export async function collectCoverage(tx: Transaction, { account }: AccountScope): Promise<void> {
  await tx.execute(sql`
    create temporary table covered_wallets on commit drop as
    with read as (
      select account, product_type, covered as time, upper(covered) as settled_to
      from streams
      where account = ${account}
        and covered <> '{}'
    ),
    states as (
      select account, product_type, not_available_since, closed_at
      from stream_states
      where account = ${account}
    ),
    unread as (
      select account, 'UTA' as wallet
      from (select distinct account from read where product_type like 'UTA-%') as unified
      cross join unnest(${textArray([...unifiedProductTypes])}::text[]) as wanted (product_type)
      left join read using (account, product_type)
      left join states using (account, product_type)
      where settled_to is null
        and not_available_since is null
    )
    select
      account,
      wallet,
      case when bool_or(is_unread) then '{}' else range_intersect_agg(time) end as time,
      case
        when bool_or(is_unread) then '-infinity'
        when bool_and(is_closed) then null
        else min(settled_to) - ${bookedMaxOf("wallet")}
      end as settled_to,
      case when count(*) > 1 then lower(range_intersect_agg(time)) end as shared_from
    from (
      select
        account,
        ${walletOf("product_type")} as wallet,
        time,
        settled_to,
        closed_at is not null as is_closed,
        (account, ${walletOf("product_type")}) in (select account, wallet from unread) as is_unread
      from read
      left join states using (account, product_type)
    ) as members
    group by account, wallet`);
}
