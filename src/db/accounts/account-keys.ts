import { createHmac, randomBytes } from "node:crypto";
import { sql } from "drizzle-orm";
import type { ProductType } from "../../contract/product-types.ts";
import { KeyTakenError } from "../../errors.ts";
import { shellWord } from "../../printable.ts";
import type { Secret } from "../../secret.ts";
import { type Database, inTransaction, type Queryable, type Transaction } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { textArray } from "../sql/array-literal.ts";
import { timeText } from "../sql/time-text.ts";

/** An account's name here, and the API key that is to be used under it. */
export type NamedKey = { readonly account: string; readonly key: Secret };

/** The exchange's user as {@link accountUsers} names him, and the ledgers of his that are read. */
export type User = { readonly userId: string; readonly productTypes: readonly ProductType[] };

/** A key that has not served bills of two times, and since when it reads the account. */
export type UnprovenKey = { readonly fingerprint: string; readonly since: string };

/** What earlier runs have learned about a key and its account. */
export type KeyState = {
  /** Undefined where the database has no salt yet. */
  readonly fingerprint: string | undefined;
  /** Whether rows of this account were stored with the key. */
  readonly isRecorded: boolean;
  /** The key that reads the account and has proven nothing yet: this one or another one. */
  readonly unproven: UnprovenKey | undefined;
  /** The user whose account it is; undefined where the exchange never told. */
  readonly userId: string | undefined;
};

/**
 * Checks that no rows were stored under another name with this key. Writes nothing.
 * @throws KeyTakenError with the remedy.
 */
export async function refuseTakenKey(db: Database, named: NamedKey): Promise<void> {
  const salt = await readSalt(db);
  if (salt !== undefined) await refuseOther(db, named, fingerprintOf(named.key, salt));
}

export const readKeyState = (db: Database, { account, key }: NamedKey): Promise<KeyState> =>
  withDatabaseErrors(async () => {
    const salt = await readSalt(db);
    const fingerprint = salt === undefined ? undefined : fingerprintOf(key, salt);
    const { rows } = await db.execute<{ userId: string }>(sql`
      select user_id as "userId" from account_users where account = ${account} limit 1`);
    return {
      fingerprint,
      isRecorded: fingerprint !== undefined && (await accountOf(db, fingerprint)) === account,
      unproven: await readUnproven(db, account),
      userId: rows[0]?.userId,
    };
  });

/** The accounts under which ledgers of a user are stored. @param productTypes only these; default all. */
export async function accountsOfUser(
  db: Queryable,
  userId: string,
  productTypes?: readonly ProductType[],
): Promise<readonly string[]> {
  const { rows } = await db.execute<{ account: string }>(sql`
    select distinct account
    from account_users
    where user_id = ${userId}
      and ${productTypes === undefined ? sql`true` : sql`product_type = any(${textArray(productTypes)}::text[])`}
    order by account`);
  return rows.map(({ account }) => account);
}

/** @throws KeyTakenError where one of the user's ledgers is stored under another name. */
export async function refuseTakenUser(
  db: Queryable,
  account: string,
  { userId, productTypes }: User,
): Promise<void> {
  const accounts = await accountsOfUser(db, userId, productTypes);
  const other = accounts.find((name) => name !== account);
  if (other !== undefined)
    throw taken(account, other, `user ${userId}'s ledger, which this API key reads,`);
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

export type Taking = {
  /** Fails the transaction where another run may hold the account. */
  readonly check: (tx: Transaction) => Promise<unknown>;
  /** Remembers what is covered, and can make unread what was covered since the last key began. */
  readonly begin: (tx: Transaction, forgets: boolean) => Promise<void>;
  /** Whether the key needs no proof by the bills that it will serve. */
  readonly isProven: boolean;
  /** Undefined where the exchange did not tell. */
  readonly user?: User | undefined;
};

/**
 * Makes a key the one that reads an account. What an unproven key before it, or another user's, has read is read
 * again: a key of another, empty account would else hide all that it was not served.
 * @returns the key, if it has proven nothing yet.
 * @throws KeyTakenError where one of the user's ledgers is stored under another name.
 */
export async function takeKey(
  db: Database,
  { account, key }: NamedKey,
  { check, begin, isProven, user }: Taking,
): Promise<UnprovenKey | undefined> {
  const fingerprint = fingerprintOf(key, await makeSalt(db));
  return withDatabaseErrors(() =>
    inTransaction(db, async (tx) => {
      await check(tx);
      const before = await readUnproven(tx, account);
      const isOtherUser = user !== undefined && (await takeUser(tx, account, user));
      const isRecorded = before === undefined && (await accountOf(tx, fingerprint)) === account;
      if (isOtherUser || !(isRecorded || before?.fingerprint === fingerprint)) {
        await begin(tx, isOtherUser || before !== undefined);
        if (isOtherUser || before !== undefined)
          await forgetKeys(tx, account, isOtherUser ? undefined : before?.fingerprint);
        await setUnproven(tx, account, isProven ? null : fingerprint);
      } else if (user !== undefined && before !== undefined) await setUnproven(tx, account, null);
      return readUnproven(tx, account);
    }),
  );
}

/** @returns whether the account was another user's until now. */
async function takeUser(tx: Transaction, account: string, user: User): Promise<boolean> {
  const { rows } = await tx.execute<{ userId: string; productType: ProductType }>(sql`
    select user_id as "userId", product_type as "productType"
    from account_users
    where account = ${account}`);
  const isOther = rows.some(({ userId }) => userId !== user.userId);
  const before = isOther ? [] : rows.map(({ productType }) => productType);
  const added = user.productTypes.filter((type) => !before.includes(type)).toSorted();
  if (isOther) await tx.execute(sql`delete from account_users where account = ${account}`);
  if (added.length === 0) return isOther;
  await tx.execute(sql`
    insert into account_users (user_id, product_type, account, seen_at)
    select ${user.userId}, product_type, ${account}, statement_timestamp()
    from unnest(${textArray(added)}::text[]) as added (product_type)
    on conflict (user_id, product_type) do nothing`);
  await refuseTakenUser(tx, account, user);
  return isOther;
}

/** @param fingerprint only this key; undefined for all of the account's. */
async function forgetKeys(tx: Transaction, account: string, fingerprint: string | undefined) {
  await tx.execute(sql`
    delete from account_keys
    where account = ${account}
      and fingerprint = coalesce(${fingerprint ?? null}, fingerprint)`);
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
  const salt = await readSalt(db);
  if (salt !== undefined) return salt;
  await withDatabaseErrors(() =>
    db.execute(sql`
      insert into key_salt (is_only, salt)
      values (true, ${randomBytes(32).toString("hex")})
      on conflict (is_only) do nothing`),
  );
  return makeSalt(db);
}

async function accountOf(db: Queryable, fingerprint: string): Promise<string | undefined> {
  const { rows } = await withDatabaseErrors(() =>
    db.execute<{ account: string }>(sql`
      select account from account_keys where fingerprint = ${fingerprint}`),
  );
  return rows[0]?.account;
}

async function refuseOther(db: Database, { account }: NamedKey, fingerprint: string) {
  const other = await accountOf(db, fingerprint);
  if (other !== undefined && other !== account)
    throw taken(account, other, "this API key's ledger");
}

const taken = (account: string, other: string, what: string): KeyTakenError =>
  new KeyTakenError(
    `${what} is stored as account ${other}, and as ${account} it would be ` +
      `stored twice; name the account ${other} again, or rename what is stored: ` +
      `bill-sync accounts rename ${shellWord(other)} ${shellWord(account)}`,
  );
