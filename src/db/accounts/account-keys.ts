import { createHmac, randomBytes } from "node:crypto";
import { sql } from "drizzle-orm";
import { KeyTakenError } from "../../errors.ts";
import { shellWord } from "../../printable.ts";
import type { Secret } from "../../secret.ts";
import { type Database, inTransaction, type Queryable, type Transaction } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { timeText } from "../sql/time-text.ts";
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

/** What earlier runs have learned about a key. */
export type KeyState = {
  /** Undefined where the database has no salt yet. */
  readonly fingerprint: string | undefined;
  /** Whether rows of this account were stored with the key. */
  readonly isRecorded: boolean;
  /** The key that reads the account and has proven nothing yet: this one or another one. */
  readonly unproven: UnprovenKey | undefined;
};

/** A key that has not served bills of two times, and since when it reads the account. */
export type UnprovenKey = { readonly fingerprint: string; readonly since: string };

export async function readKeyState(db: Database, { account, key }: NamedKey): Promise<KeyState> {
  const salt = await readSalt(db);
  const unproven = await withDatabaseErrors(() => readUnproven(db, account));
  if (salt === undefined) return { fingerprint: undefined, isRecorded: false, unproven };
  const fingerprint = fingerprintOf(key, salt);
  return { fingerprint, isRecorded: (await accountOf(db, fingerprint)) === account, unproven };
}

async function readUnproven(db: Queryable, account: string): Promise<UnprovenKey | undefined> {
  const { rows } = await db.execute<UnprovenKey>(sql`
    select unproven_key as fingerprint, ${timeText(sql`unproven_since`)} as since
    from streams
    where account = ${account}
      and product_type = ''
      and unproven_key is not null`);
  return rows[0];
}

export type TakingSteps = {
  readonly check: (tx: Transaction) => Promise<unknown>;
  readonly begin: (tx: Transaction, forgets: boolean) => Promise<void>;
};

/**
 * Makes a key the one that reads an account. What an unproven key before it has read is read again: a key of
 * another, empty account would else hide all that it was not served.
 *
 * @param steps `check` fails the transaction where another run may hold the account; `begin` remembers what
 *   is covered, and can make unread before what the last key has covered.
 * @param isProven whether the key was served bills of the account.
 * @returns the key, if it has proven nothing yet.
 */
export async function takeKey(
  db: Database,
  { check, begin }: TakingSteps,
  { account, key }: NamedKey,
  isProven: boolean,
): Promise<UnprovenKey | undefined> {
  const fingerprint = fingerprintOf(key, await makeSalt(db));
  return withDatabaseErrors(() =>
    inTransaction(db, async (tx) => {
      await check(tx);
      const before = await readUnproven(tx, account);
      if (before?.fingerprint === fingerprint) return before;
      await begin(tx, before !== undefined);
      if (before !== undefined) await forgetKey(tx, account, before.fingerprint);
      // What the exchange refused to the previous key, it may grant to this one.
      await forgetRefusals(tx, account);
      await setUnproven(tx, account, isProven ? null : fingerprint);
      return readUnproven(tx, account);
    }),
  );
}

async function forgetKey(tx: Transaction, account: string, fingerprint: string): Promise<void> {
  await tx.execute(sql`
    delete from account_keys
    where fingerprint = ${fingerprint}
      and account = ${account}`);
}

async function setUnproven(tx: Transaction, account: string, fingerprint: string | null) {
  await tx.execute(sql`
    insert into streams (account, product_type, unproven_key, unproven_since)
    select
      ${account}, '', ${fingerprint},
      case when ${fingerprint}::text is not null then statement_timestamp() end
    on conflict (account, product_type) do update
    set
      unproven_key = excluded.unproven_key,
      unproven_since = excluded.unproven_since`);
}

/** Records that a key has proven whose it is, or that it has not after all. */
export async function recordProof(
  db: Database,
  account: string,
  { fingerprint, since }: UnprovenKey,
  isProven: boolean,
): Promise<void> {
  await withDatabaseErrors(() =>
    db.execute(sql`
      update streams
      set
        unproven_key = ${isProven ? null : fingerprint},
        unproven_since = ${isProven ? null : since}::timestamptz
      where account = ${account}
        and product_type = ''
        and unproven_key is not distinct from ${isProven ? fingerprint : null}`),
  );
}

/**
 * Remembers that rows are stored under this name with this key. Call it before the first row is
 * stored. Of two runs with one key and two names at once, the later one is refused.
 * @throws KeyTakenError with the remedy.
 */
export async function recordKey(db: Database, named: NamedKey): Promise<void> {
  const fingerprint = fingerprintOf(named.key, await makeSalt(db));
  await withDatabaseErrors(() =>
    db.execute(sql`
      insert into account_keys (fingerprint, account, seen_at)
      values (${fingerprint}, ${named.account}, statement_timestamp())
      on conflict (fingerprint) do nothing`),
  );
  await refuseOther(db, named, fingerprint);
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
