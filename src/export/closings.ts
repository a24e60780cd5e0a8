import { sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { isOneOf } from "../db/sql/one-of.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";
import { walletOf } from "../db/sql/wallet.ts";
import type { Closing } from "./exported-bill.ts";
import type { BillSelection } from "./read-bills.ts";

/** The wallets that were closed in the selected time. */
export function readClosings(
  tx: Transaction,
  { accounts, from, to }: Pick<BillSelection, "accounts" | "from" | "to">,
): Promise<readonly Closing[]> {
  return withDatabaseErrors(async () => {
    const { rows } = await tx.execute<{ account: string; wallet: string; at: string }>(sql`
      select
        account,
        ${walletOf("product_type")} as wallet,
        ${msOf(sql`max(closed_at)`)} as at
      from streams
      where product_type <> ''
        and ${isOneOf(accounts)}
      group by account, 2
      having bool_or(closed_at is not null)
      order by account, 2`);
    return rows
      .map(({ account, wallet, at }) => ({ account, wallet, at: timeFrom(at) }))
      .filter(({ at }) => (from === undefined || at >= from) && (to === undefined || at < to));
  });
}
