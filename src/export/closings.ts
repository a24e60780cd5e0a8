import { sql } from "drizzle-orm";
import { epochMs } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { isOneOf } from "../db/sql/one-of.ts";
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
        extract(epoch from max(closed_at)) * 1000 as at
      from stream_states
      where product_type <> ''
        and ${isOneOf(accounts)}
      group by account, 2
      having bool_or(closed_at is not null)
      order by account, 2`);
    return rows
      .map(({ account, wallet, at }) => ({ account, wallet, at: epochMs(Number(at)) }))
      .filter(({ at }) => (from === undefined || at >= from) && (to === undefined || at < to));
  });
}
