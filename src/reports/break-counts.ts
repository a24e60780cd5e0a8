import { sql } from "drizzle-orm";
import type { Queryable } from "../db/connect.ts";
import { isOneOf } from "../db/sql/one-of.ts";

/** As the view `analytics.breaks` names them. */
export const breakStates = ["open", "signed off", "resolved"] as const;

/** How many breaks of a state reconcile found in a wallet; 0 where it looked and found none. */
export type BreakCount = {
  readonly account: string;
  /** A wallet; `UTA` in a unified account. Empty where a break concerns no wallet. */
  readonly productType: string;
  /** Empty where a break concerns no coin. */
  readonly coin: string;
  readonly state: (typeof breakStates)[number];
  readonly breaks: number;
};

/** Accounts that have open breaks. @param accounts only these; default all. */
export async function openBreakAccounts(
  db: Queryable,
  limit: number,
  accounts?: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await db.execute<{ account: string }>(sql`
    select account
    from ledger_breaks
    where state = 'open'
      and ${isOneOf(accounts)}
    group by account
    order by account
    limit ${limit}`);
  return rows.map(({ account }) => account);
}

/**
 * A count for every state of each wallet that was reconciled or has breaks. Other wallets have none.
 * @param accounts only these; default all.
 */
export async function countBreaks(
  db: Queryable,
  accounts?: readonly string[],
): Promise<readonly BreakCount[]> {
  const isOne = isOneOf(accounts);
  const { rows } = await db.execute<{
    account: string;
    productType: string;
    coin: string;
    open: number;
    signed_off: number;
    resolved: number;
  }>(sql`
    select
      account,
      product_type as "productType",
      coin,
      (count(*) filter (where state = 'open'))::int as open,
      (count(*) filter (where state = 'explained'))::int as signed_off,
      (count(*) filter (where state = 'resolved'))::int as resolved
    from (
      select account, product_type, coin, null as state
      from reconciled_chains
      where ${isOne}
      union all
      select account, product_type, coin, state
      from ledger_breaks
      where ${isOne}
    ) as judged
    group by account, product_type, coin
    order by account, product_type, coin`);
  return rows.flatMap(({ open, signed_off, resolved, ...wallet }) => {
    const counts = { open, "signed off": signed_off, resolved };
    return breakStates.map((state) => ({ ...wallet, state, breaks: counts[state] }));
  });
}
