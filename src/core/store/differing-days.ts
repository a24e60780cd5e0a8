import { type SQL, sql } from "drizzle-orm";
import { type Database, inTransaction, type Transaction } from "../postgres/connect.ts";
import type { StatementLimit } from "../postgres/connections.ts";
import { withDatabaseErrors } from "../postgres/database-errors.ts";
import { walletOf } from "../views/wallet-moves.ts";
import { addSums, allBillsOf, keyOf, type SumTable, storedLess, sumTables } from "./day-sums.ts";
import { type ChainDay, endColumns, endsOf, findAllEnds } from "./days.ts";
import { pauseHolder } from "./lease.ts";
import { insertMissingTypes } from "./reference/stored-business-types.ts";

/** A chain's day whose stored rows are not what its bills say. */
export type DifferingDay = ChainDay & { readonly account: string };

/**
 * Compares an account's stored days with its bills, by one query a table. All of it sees one moment, so a
 * concurrent write is in both or in neither.
 * @returns the days that differ, in order: somebody changed bills or days by hand. Nothing is changed.
 */
export function findDifferingDays(
  db: Database,
  account: string,
  limit: StatementLimit = {},
): Promise<readonly DifferingDay[]> {
  const differing = sql.join(
    [...sumTables.map((table) => differingSums(table, account)), differingEnds(account)],
    sql` union all `,
  );
  return withDatabaseErrors(() =>
    inTransaction(
      db,
      async (tx) => {
        await tx.execute(sql`set local jit = off`);
        const { rows } = await tx.execute<DifferingDay>(sql`
          select ${account} as account, wallet, coin, to_char(day, 'YYYY-MM-DD') as day
          from (${differing}) as differing
          group by wallet, coin, differing.day
          order by differing.day, wallet, coin`);
        return rows;
      },
      limit,
    ),
  );
}

/** The days of a table of sums where anything is left of the stored sums less those of the bills. */
function differingSums(table: SumTable, account: string): SQL {
  const isDifferent = table.sums.map(([sum]) => `sum(${sum}) <> 0`).join(" or ");
  return sql`
      select
        ${walletOf("product_type")} as wallet,
        coin,
        day
      from ${storedLess(table, sql`account = ${account}`, allBillsOf(account))}
      group by ${keyOf(table)}
      having ${sql.raw(isDifferent)}`;
}

/** The ends that are only stored, or only those of the bills. */
function differingEnds(account: string): SQL {
  const columns = sql.raw(endColumns.join(", "));
  return sql`
      select wallet, coin, day
      from (
        select ${columns}, true as is_stored
        from day_ends
        where account = ${account}
        union all
        select ${columns}, false
        from (${endsOf(allBillsOf(account))}) as computed
      ) as compared
      group by ${columns}
      having count(*) filter (where is_stored) <> count(*) filter (where not is_stored)`;
}

/** Makes an account's days anew from its bills: one statement a table. No page is written meanwhile. */
export function rebuildDays(
  db: Database,
  account: string,
  limit: StatementLimit = {},
): Promise<void> {
  return withDatabaseErrors(() => inTransaction(db, (tx) => makeDays(tx, account), limit));
}

/** The same in a transaction that has written nothing yet that a page's transaction writes. */
export async function makeDays(tx: Transaction, account: string): Promise<void> {
  await pauseHolder(tx, account);
  const { rows: unmet } = await tx.execute<{ code: string }>(sql`
    select distinct business_type as code
    from bills
    left join business_types on code = business_type
    where account = ${account}
      and code is null`);
  // A type that somebody wrote by hand.
  await insertMissingTypes(
    tx,
    unmet.map(({ code }) => code),
  );
  for (const name of [...sumTables.map((table) => table.name), "day_ends"])
    await tx.execute(sql`delete from ${sql.identifier(name)} where account = ${account}`);
  for (const table of sumTables) await addSums(tx, table, allBillsOf(account));
  await findAllEnds(tx, account);
}
