import { createHmac, randomBytes } from "node:crypto";
import { getTableName, sql } from "drizzle-orm";
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import { escapeLiteral } from "pg";
import { KeyTakenError } from "../errors.ts";
import type { Secret } from "../secret.ts";
import type { Database } from "./connect.ts";
import { withDatabaseErrors } from "./database-errors.ts";
import { tables } from "./tables.ts";

/** An account's name here, and the API key that is to be used under it. */
export type NamedKey = { readonly account: string; readonly key: Secret };

/**
 * Checks that no rows were stored under another name with this key. Writes nothing.
 * @throws KeyTakenError with the remedy.
 */
export async function refuseTakenKey(db: Database, named: NamedKey): Promise<void> {
  const salt = await readSalt(db);
  if (salt !== undefined) await refuseOther(db, named, fingerprintOf(named.key, salt));
}

/**
 * Remembers that rows are stored under this name with this key; to be called before the first of
 * them is. Of two runs that do so at once with one key and two names, the later one is refused.
 * @throws KeyTakenError with the remedy.
 */
export async function recordKey(db: Database, named: NamedKey): Promise<void> {
  const fingerprint = fingerprintOf(named.key, await makeSalt(db));
  await withDatabaseErrors(() =>
    db.execute(sql`
      insert into account_keys (fingerprint, account, seen_at)
      values (${fingerprint}, ${named.account}, clock_timestamp())
      on conflict (fingerprint) do nothing`),
  );
  await refuseOther(db, named, fingerprint);
}

/**
 * Wraps writes so that the first of them remembers the key: not before something is here, since a
 * key that the exchange refuses has stored nothing.
 */
export function rememberingKey(db: Database, named: NamedKey) {
  let recorded: Promise<void> | undefined;
  return <Given, Result>(write: (given: Given) => Promise<Result>) =>
    async (given: Given): Promise<Result> => {
      recorded ??= recordKey(db, named);
      await recorded;
      return write(given);
    };
}

// A key is long and random, so no slow hash is needed to keep it from being guessed.
const fingerprintOf = (key: Secret, salt: string): string =>
  createHmac("sha256", salt).update(key.reveal()).digest("hex");

async function readSalt(db: Database): Promise<string | undefined> {
  const { rows } = await withDatabaseErrors(() =>
    db.execute<{ salt: string }>(sql`select salt from key_salt`),
  );
  return rows[0]?.salt;
}

/** The salt, made by whoever needs it first. */
async function makeSalt(db: Database): Promise<string> {
  const known = await readSalt(db);
  if (known !== undefined) return known;
  await withDatabaseErrors(() =>
    db.execute(sql`
      insert into key_salt (is_only, salt)
      values (true, ${randomBytes(32).toString("hex")})
      on conflict (is_only) do nothing`),
  );
  const made = await readSalt(db);
  if (made === undefined) throw new Error("defect: the salt that was just made is not there");
  return made;
}

async function refuseOther(db: Database, { account }: NamedKey, fingerprint: string) {
  const { rows } = await withDatabaseErrors(() =>
    db.execute<{ account: string }>(sql`
      select account from account_keys where fingerprint = ${fingerprint}`),
  );
  const [known] = rows;
  if (known === undefined || known.account === account) return;
  throw new KeyTakenError(
    `this API key's ledger is stored as account ${known.account}, and as ${account} it would be ` +
      `stored twice; name the account ${known.account} again, or rename what is stored, while no ` +
      `sync is at work, by: ${renaming(known.account, account)}`,
  );
}

/** What renames an account in all tables at once; it fails whole where rows of both names collide. */
function renaming(from: string, to: string): string {
  // A lease and a guest are none of the account's data, and each name may have them.
  const { accountLeases: _leases, accountGuests: _guests, ...renamed } = tables;
  const named = Object.values(renamed).filter((table: PgTable) =>
    getTableConfig(table).columns.some(({ name }) => name === "account"),
  );
  const updates = named.map(
    (table) =>
      `update ${getTableName(table)} set account = ${literal(to)} where account = ${literal(from)};`,
  );
  return ["begin;", ...updates, "commit;"].join(" ");
}

/** Somebody may run it as it stands here, whatever name the table holds. */
const literal = (text: string): string => escapeLiteral(text).trim();
