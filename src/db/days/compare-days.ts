import { type SQL, sql } from "drizzle-orm";
import { type Database, inTransaction, type StatementLimit, type Transaction } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { takeTurn } from "../ledger/turns.ts";
import { walletOf } from "../sql/wallet.ts";
import { type DayTable, dayTables } from "./day-views.ts";
import { dayOfColumn } from "./mark-days.ts";
import { rowsOfDays, type WalletDay } from "./refresh-days.ts";

/**
 * Computes all of an account's days from its bills, and compares them with what is stored of those that
 * are not marked: in one statement, so that whatever is written meanwhile is in both or in none.
 * @returns the days that are stored otherwise: bills, categories or days were changed by hand.
 */
export function findWrongDays(
  db: Database,
  account: string,
  limit: StatementLimit = {},
): Promise<readonly WalletDay[]> {
  return withDatabaseErrors(() => inTransaction(db, (tx) => wrongDaysOf(tx, account), limit));
}

async function wrongDaysOf(tx: Transaction, account: string): Promise<readonly WalletDay[]> {
  await tx.execute(sql`set local jit = off`);
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
      select ${account}::text collate "C" as account, wallet, day
      from (
        select ${walletOf("product_type")} as wallet, ${dayOfColumn(sql`c_time`)} as day
        from bills
        where account = ${account}
        ${stored}
      ) as known
      where (wallet, day) not in (select wallet, day from marked)
    )
    select distinct ${account} as account, wallet, to_char(day, 'YYYY-MM-DD') as day
    from (${differing}) as differing
    order by day, wallet`);
  return rows;
}

function differenceOf({ name, columns, computedOf }: DayTable, account: string): SQL {
  const list = sql.raw(columns.join(", "));
  const stored = sql`
      select ${list}
      from ${sql.identifier(name)}
      where account = ${account}
        and (wallet, day) not in (select wallet, day from marked)`;
  const byBills = sql`
      select ${list}
      from (${computedOf(account)}) as computed`;
  return sql`
      select wallet, day
      from ((${stored}) except all (${byBills})) as wrong
      union all
      select wallet, day
      from ((${byBills}) except all (${stored})) as missing`;
}

/** Marks days that are stored otherwise than their bills say. */
export function markWrongDays(
  db: Database,
  account: string,
  days: readonly WalletDay[],
): Promise<void> {
  return withDatabaseErrors(() =>
    inTransaction(db, async (tx) => {
      await takeTurn(tx, account);
      await tx.execute(sql`
        insert into dirty_days (account, wallet, day, cause)
        select account, wallet, day, 'bills'
        from (${rowsOfDays(account, days)}) as wrong
        on conflict (account, wallet, day, cause) do nothing`);
    }),
  );
}
