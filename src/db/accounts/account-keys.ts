import { createHmac, randomBytes } from "node:crypto";
import { sql } from "drizzle-orm";
import { KeyTakenError } from "../../errors.ts";
import { shellWord } from "../../printable.ts";
import type { Secret } from "../../secret.ts";
import type { Database } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { forgetRefusals } from "./account-states.ts";

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

/** Whether rows were stored under this very name with this key. */
export async function isKnownKey(db: Database, { account, key }: NamedKey): Promise<boolean> {
  const salt = await readSalt(db);
  if (salt === undefined) return false;
  return (await accountOf(db, fingerprintOf(key, salt))) === account;
}

/**
 * Remembers that rows are stored under this name with this key. Call it before the first row is
 * stored. Of two runs with one key and two names at once, the later one is refused.
 * @throws KeyTakenError with the remedy.
 */
export async function recordKey(db: Database, named: NamedKey): Promise<void> {
  const fingerprint = fingerprintOf(named.key, await makeSalt(db));
  const { rowCount } = await withDatabaseErrors(() =>
    db.execute(sql`
      insert into account_keys (fingerprint, account, seen_at)
      values (${fingerprint}, ${named.account}, statement_timestamp())
      on conflict (fingerprint) do nothing`),
  );
  await refuseOther(db, named, fingerprint);
  // What the exchange refused to the previous key, it may grant to this one.
  if (rowCount === 1) await forgetRefusals(db, named.account);
}

/**
 * Wraps writes so that the first of them remembers the key. Not earlier: a key that the exchange
 * refuses never stores anything.
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

async function accountOf(db: Database, fingerprint: string): Promise<string | undefined> {
  const { rows } = await withDatabaseErrors(() =>
    db.execute<{ account: string }>(sql`
      select account from account_keys where fingerprint = ${fingerprint}`),
  );
  return rows[0]?.account;
}

async function refuseOther(db: Database, { account }: NamedKey, fingerprint: string) {
  const known = await accountOf(db, fingerprint);
  if (known === undefined || known === account) return;
  throw new KeyTakenError(
    `this API key's ledger is stored as account ${known}, and as ${account} it would be ` +
      `stored twice; name the account ${known} again, or rename what is stored: ` +
      `bill-sync accounts rename ${shellWord(known)} ${shellWord(account)}`,
  );
}
