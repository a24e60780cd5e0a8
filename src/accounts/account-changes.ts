import { getTableName, type SQL, sql } from "drizzle-orm";
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import type { ProductType } from "../core/contract/product-types.ts";
import {
  type Database,
  inTransaction,
  type Queryable,
  type Transaction,
} from "../core/postgres/connect.ts";
import { tables } from "../core/postgres/schema/tables.ts";
import { checkLease, Leases, type TakeOptions } from "../core/store/lease.ts";
import { UsageError } from "../lib/errors.ts";
import { printableLine } from "../lib/printable.ts";
import { hourMs } from "../lib/time.ts";

// What a user decides of an account. Rows stay when a decision is undone: no role may delete them.

/**
 * No sync reads the account, or the product type, any more, and nothing of it counts as missing. What is retired already
 * keeps its time.
 */
export async function retire(
  db: Database,
  account: string,
  productType?: ProductType,
): Promise<void> {
  await db.execute(sql`
    insert into ledgers as stored (account, product_type, retired_at)
    values (${account}, ${productType ?? ""}, statement_timestamp())
    on conflict (account, product_type) do update
    set retired_at = excluded.retired_at
    where stored.retired_at is null`);
}

/** @returns whether the product type, or anything of the account, was retired by itself. */
export async function undoRetire(
  db: Database,
  account: string,
  productType?: ProductType,
): Promise<boolean> {
  const { rowCount } = await db.execute(sql`
    update ledgers
    set retired_at = null
    where account = ${account}
      and (${productType ?? null}::text is null or product_type = ${productType ?? null})
      and retired_at is not null`);
  return (rowCount ?? 0) > 0;
}

// Renaming rewrites every row of the account, which may be millions.
const statementMaxMs = hourMs;

/**
 * Renames an account in all tables, in one transaction, while no sync and no verification is at work on either
 * name. A check takes no lease: it locks its rows of `ledgers`, whose deletion waits for it.
 *
 * @throws UsageError where nothing is stored under the old name, or anything under the new one;
 *   AccountHeldError where a run is at work.
 */
export async function renameAccount(
  db: Database,
  { from, to }: Names,
  options: TakeOptions,
): Promise<void> {
  // Checked before the leases too: taking a lease leaves a row, which a mistyped name should not.
  await refuseUnfit(db, from, to);
  const leases = new Leases(db);
  await using oldName = await leases.take(from, options);
  await using newName = await leases.take(to, options);
  const rename = async (tx: Transaction) => {
    for (const lease of [oldName, newName]) await checkLease(tx, lease);
    await refuseUnfit(tx, from, to);
    for (const table of namedTables) await renameRows(tx, table, { from, to });
    await tx.execute(sql`
      insert into ledgers as stored (account, product_type, first_name, renamed_at)
      values (${to}, '', ${from}, transaction_timestamp())
      on conflict (account, product_type) do update
      set
        first_name = coalesce(stored.first_name, excluded.first_name),
        renamed_at = excluded.renamed_at`);
  };
  await inTransaction(db, rename, { statementMaxMs });
}

/** The tables that hold an account's data. Leases are not renamed. */
const namedTables: readonly PgTable[] = (() => {
  const { leases: _leases, ...others } = tables;
  return Object.values(others).filter((table: PgTable) =>
    getTableConfig(table).columns.some(({ name }) => name === "account"),
  );
})();

type Names = { readonly from: string; readonly to: string };

/**
 * By two statements where the account is a part of the key: such tables may be distributed by account, and
 * a distributed table refuses an update of that column. Elsewhere by one.
 */
async function renameRows(tx: Transaction, table: PgTable, { from, to }: Names): Promise<void> {
  const isPartOfKey = getTableConfig(table).primaryKeys.some(({ columns }) =>
    columns.some(({ name }) => name === "account"),
  );
  if (!isPartOfKey) {
    await tx.execute(sql`update ${table} set account = ${to} where account = ${from}`);
    return;
  }
  const others = getTableConfig(table).columns.filter(({ name }) => name !== "account");
  const list = sql.join(
    others.map(({ name }) => sql.identifier(name)),
    sql`, `,
  );
  await tx.execute(sql`
    insert into ${table} (account, ${list})
    select ${to}, ${list}
    from ${table}
    where account = ${from}`);
  await tx.execute(sql`delete from ${table} where account = ${from}`);
}

async function refuseUnfit(db: Queryable, from: string, to: string): Promise<void> {
  const taken = await tablesWith(db, to);
  if (taken.length > 0) {
    throw new UsageError(
      `account ${to} has rows of its own already (${taken.join(", ")}), and two ledgers cannot be ` +
        "merged; choose another name",
    );
  }
  if ((await tablesWith(db, from)).length === 0) {
    throw new UsageError(
      `nothing is stored under the name ${printableLine(from)}; bill-sync accounts list shows all names`,
    );
  }
}

async function tablesWith(db: Queryable, account: string): Promise<readonly string[]> {
  const held = namedTables.map(
    (table): SQL => sql`
      select ${getTableName(table)} as name
      where exists (select 1 from ${table} where account = ${account})`,
  );
  const { rows } = await db.execute<{ name: string }>(sql.join(held, sql` union all `));
  return rows.map(({ name }) => name);
}
