import { type SQL, sql } from "drizzle-orm";
import { type Database, inTransaction, type StatementLimit, type Transaction } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { pauseHolder } from "../lease/lease.ts";
import { walletOf } from "../sql/wallet.ts";
import { type DayTable, dayTables } from "./day-views.ts";
import { dayOfColumn } from "./mark-days.ts";
import { rowsOfDays, type WalletDay } from "./refresh-days.ts";

export type Compared = StatementLimit & {
  /** Compares only these days of the account. Default all. */
  readonly days?: readonly WalletDay[];
};

/**
 * Computes an account's days from its bills and compares them with the stored days that are not
 * marked. It is one statement, so that a concurrent write is in both or in neither.
 * @returns the days whose stored rows differ: somebody changed bills, categories or days by hand.
 */
export function findWrongDays(
  db: Database,
  account: string,
  { days, ...limit }: Compared = {},
): Promise<readonly WalletDay[]> {
  return withDatabaseErrors(() => inTransaction(db, (tx) => wrongDaysOf(tx, account, days), limit));
}

async function wrongDaysOf(
  tx: Transaction,
  account: string,
  days?: readonly WalletDay[],
): Promise<readonly WalletDay[]> {
  await tx.execute(sql`set local jit = off`);
  const compared = days === undefined ? knownDays(account) : rowsOfDays(account, days);
  const differing = sql.join(
    dayTables.map((table) => differenceOf(table, account)),
    sql` union all `,
  );
  const { rows } = await tx.execute<WalletDay>(sql`
    with marked as (
      select wallet, day
      from public.dirty_days
      where account = ${account}
    ),
    dirty_days as (
      select account, wallet, day
      from (${compared}) as compared
      where (wallet, day) not in (select wallet, day from marked)
    )
    select distinct ${account} as account, wallet, to_char(day, 'YYYY-MM-DD') as day
    from (${differing}) as differing
    order by day, wallet`);
  return rows;
}

/** The account's days that have bills or stored rows. */
function knownDays(account: string): SQL {
  const stored = sql.join(
    dayTables.map(
      ({ name }) => sql`
        union
        select wallet, day
        from ${sql.identifier(name)}
        where account = ${account}`,
    ),
    sql``,
  );
  return sql`
      select ${account}::text collate "C" as account, wallet, day
      from (
        select ${walletOf("product_type")} as wallet, ${dayOfColumn(sql`c_time`)} as day
        from bills
        where account = ${account}
        ${stored}
      ) as known`;
}

/** The days with a row that is only stored, or only computed. */
function differenceOf({ name, columns, computedOf }: DayTable, account: string): SQL {
  const list = sql.raw(columns.join(", "));
  return sql`
      select wallet, day
      from (
        select ${list}, true as is_stored
        from ${sql.identifier(name)}
        where account = ${account}
          and (wallet, day) in (select wallet, day from dirty_days)
        union all
        select ${list}, false
        from (${computedOf(account)}) as computed
      ) as compared
      group by ${list}
      having count(*) filter (where is_stored) <> count(*) filter (where not is_stored)`;
}

/** Marks days whose stored rows differ from what their bills say. */
export function markWrongDays(
  db: Database,
  account: string,
  days: readonly WalletDay[],
): Promise<void> {
  return withDatabaseErrors(() =>
    inTransaction(db, async (tx) => {
      await pauseHolder(tx, account);
      await tx.execute(sql`
        insert into dirty_days (account, wallet, day, cause)
        select account, wallet, day, 'bills'
        from (${rowsOfDays(account, days)}) as wrong
        on conflict (account, wallet, day, cause) do nothing`);
    }),
  );
}
