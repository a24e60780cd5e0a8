import { createHmac } from "node:crypto";
import { escapeLiteral } from "pg";
import { type Database, inTransaction, type Queryable } from "./connect.ts";
import { withDatabaseErrors } from "./database-errors.ts";
import { lockMigrations } from "./migrate.ts";
import { onlyRow } from "./sql/only-row.ts";

const reader = "bill_sync_reader";
const ofKeys = ["account_keys", "account_users", "leases", "key_salt"];

// What Postgres lets everybody do, whatever else is granted: fill the disk with large objects, and hold locks
// that others wait for.
const readersLimits = `
  do $$
  begin
    execute (
      select string_agg(format('revoke execute on function %s from public;', oid::regprocedure), '')
      from pg_proc
      where proname ~ '^(lo_(creat|create|from_bytea)$|pg_(try_)?advisory_(xact_)?lock)'
    );
  end $$`;

/**
 * Makes a role that may read all tables but those about keys, and write none. Of the leases it may read
 * whose they are: see leased-accounts.ts. A role that exists is granted its rights again. Its password is derived from the owner's, so that the address stays the same.
 *
 * @param ownerUrl the embedded Postgres's, migrated.
 * @returns the same database's address for the reader.
 */
export async function addReader(db: Database, ownerUrl: string): Promise<string> {
  const url = new URL(ownerUrl);
  const password = createHmac("sha256", url.searchParams.get("password") ?? "")
    .update(reader)
    .digest("base64url");
  const database = decodeURIComponent(url.pathname.slice(1));
  await withDatabaseErrors(() =>
    inTransaction(db, async (tx) => {
      // Two sessions that change a role at once fail.
      await lockMigrations(tx);
      const { rows } = await tx.execute(`select 1 from pg_roles where rolname = '${reader}'`);
      if (rows.length === 0) await tx.execute(`create role ${reader}`);
      await tx.execute(`
        alter role ${reader} login password ${escapeLiteral(password)};
        alter role ${reader} set default_transaction_read_only = on;
        revoke temporary on database ${database} from public;
        revoke connect on database postgres, template1 from public;
        ${readersLimits};
        grant usage on schema public, analytics, drizzle to ${reader};
        grant select on all tables in schema public, analytics, drizzle to ${reader};
        revoke all on ${ofKeys.join(", ")} from ${reader};
        grant select (account) on leases to ${reader};
        alter default privileges in schema public, analytics grant select on tables to ${reader}`);
    }),
  );
  url.searchParams.set("user", reader);
  url.searchParams.set("password", password);
  return url.href;
}

/** Whether the user of these connections may change any table of the ledger. */
export async function mayWrite(db: Queryable): Promise<boolean> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{ may_write: boolean }>(`
      select coalesce(bool_or(has_table_privilege(oid, 'insert, update, delete, truncate')), false)
        as may_write
      from pg_class
      where relnamespace = 'public'::regnamespace
        and relkind in ('r', 'p')`);
    return onlyRow(rows, "a user's rights").may_write;
  });
}
