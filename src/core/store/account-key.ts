import { createHmac, randomBytes } from "node:crypto";
import { and, eq, inArray, ne, sql } from "drizzle-orm";
import { ExchangeError, UsageError } from "../../lib/errors.ts";
import { shellWord } from "../../lib/printable.ts";
import type { Secret } from "../../lib/secret.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { ProductType } from "../contract/product-types.ts";
import {
  type Database,
  inTransaction,
  type Queryable,
  type Transaction,
} from "../postgres/connect.ts";
import { withDatabaseErrors } from "../postgres/database-errors.ts";
import { accountKeys, accountUsers, keySalt } from "../postgres/schema/accounts-schema.ts";
import { onlyRow } from "../postgres/values.ts";
import type { KeyAnswer } from "../words/account-state.ts";
import { forgetCoverage } from "./record-time.ts";

/** An account's name here, and the API key that is to be used under it. */
export type NamedKey = { readonly account: string; readonly key: Secret };

/** What earlier runs have learned. */
type Known = {
  /** The fingerprints of the account's keys. */
  readonly keys: readonly string[];
  /** The user whose account it is; undefined where the exchange never told. */
  readonly userId: string | undefined;
  /** Whether any of its ledgers was ever read, and whether bills are stored of one. */
  readonly isRead: boolean;
  readonly hasBills: boolean;
  /** This key's; undefined where the database has no salt yet. */
  readonly fingerprint: string | undefined;
};

/** The key with which an account is read, and what decides whether it may be. */
export class AccountKey {
  readonly #db: Database;
  readonly #named: NamedKey;
  readonly #isDemo: boolean;
  readonly #isTrusted: boolean;
  #answer: KeyAnswer | undefined;

  /**
   * @param isDemo whether it is of demo trading, whose ledgers have the names of real ones.
   * @param isTrusted whether the user of this program says that it is the account's.
   */
  constructor(db: Database, named: NamedKey, { isDemo = false, isTrusted = false } = {}) {
    this.#db = db;
    this.#named = named;
    this.#isDemo = isDemo;
    this.#isTrusted = isTrusted;
  }

  /**
   * Before the exchange is asked. Writes nothing.
   * @throws UsageError where rows were stored under another name with this key.
   */
  async refuseTaken(): Promise<void> {
    const { fingerprint } = await this.#known(this.#db);
    if (fingerprint !== undefined) await this.#refuseOther(this.#db, fingerprint);
  }

  /**
   * Decides whether the key is this account's: it read the account before, or is its user's. Writes nothing.
   * @returns whether no run has read the account with it.
   * @throws UsageError if one of its user's ledgers has another name here.
   * @throws UsageError if it is another user's and bills are stored, or if nobody trusts it.
   * @throws ExchangeError if the next run may be told.
   */
  async check(answer: KeyAnswer): Promise<{ readonly isNew: boolean }> {
    this.#answer = answer;
    const { info, productTypes } = answer;
    const { account } = this.#named;
    const known = await this.#known(this.#db);
    const userId = this.#userId();
    if (userId !== undefined) await refuseTakenUser(this.#db, account, userId, productTypes);
    const isNew = known.fingerprint === undefined || !known.keys.includes(known.fingerprint);
    if (isNew && !this.#isTrusted && info instanceof ExchangeError && isPassing(info)) throw info;
    if (!this.#isAccounts(known)) {
      // Two users' bills would be in one ledger, even if the key is trusted.
      if (userId !== undefined && known.userId !== undefined) {
        if (known.hasBills || !this.#isTrusted) throw foreignKey(account, userId, known);
      } else if (!this.#isTrusted) throw unknownKey(account);
    }
    return { isNew };
  }

  /** Whether nothing speaks against it: of an account that was never read, any key may be. */
  #isAccounts({ keys, userId, isRead, fingerprint = "" }: Known): boolean {
    const told = this.#userId();
    if (told !== undefined && userId !== undefined) return told === userId;
    return keys.length === 0 || !isRead || keys.includes(fingerprint);
  }

  /** The user that the exchange told, as `account_users` names him. */
  #userId(): string | undefined {
    const info = this.#answer?.info;
    if (info === undefined || info instanceof Error || info.userId === null) return undefined;
    return this.#isDemo ? `demo ${info.userId}` : info.userId;
  }

  /**
   * Makes it the key that reads the account. Call it after `check`, before time is planned or a row is stored. A key
   * that is only trusted takes the place of all earlier ones, and reads again all time that it can: a key of
   * another, empty account would else hide all that it was not served.
   * @param check fails the transaction where another run may hold the account.
   * @param horizon the oldest time that can be read again. Needed for a trusted key.
   * @throws UsageError where the key, or one of its user's ledgers, is stored under another name.
   */
  async take(check: (tx: Transaction) => Promise<unknown>, horizon?: EpochMs): Promise<void> {
    const { account } = this.#named;
    const fingerprint = fingerprintOf(this.#named.key, await makeSalt(this.#db));
    const userId = this.#userId();
    const { productTypes = [] } = this.#answer ?? {};
    await withDatabaseErrors(() =>
      inTransaction(this.#db, async (tx) => {
        await check(tx);
        const known = await this.#known(tx);
        const isAccountsKey = eq(accountKeys.account, account);
        if (!this.#isAccounts(known)) {
          if (!this.#isTrusted) throw unknownKey(account);
          await tx.delete(accountKeys).where(isAccountsKey);
          await tx.delete(accountUsers).where(eq(accountUsers.account, account));
          const isOtherUser = userId !== undefined && known.userId !== undefined;
          await forgetCoverage(tx, account, isOtherUser ? undefined : horizon);
        } else if (!known.isRead) {
          // Nothing was read with an earlier one, which may be another account's.
          const isOther = ne(accountKeys.fingerprint, fingerprint);
          await tx.delete(accountKeys).where(and(isAccountsKey, isOther));
        }
        await tx.insert(accountKeys).values({ fingerprint, account }).onConflictDoNothing();
        await this.#refuseOther(tx, fingerprint);
        if (userId === undefined) return;
        const ledgers = productTypes.toSorted();
        if (ledgers.length > 0)
          await tx
            .insert(accountUsers)
            .values(ledgers.map((productType) => ({ userId, productType, account })))
            .onConflictDoNothing();
        await refuseTakenUser(tx, account, userId, productTypes);
      }),
    );
  }

  /** The user, and the accounts of his here, where there are others beside this one. Call it after `take`. */
  async sharedUser(): Promise<{ uid: string; accounts: readonly string[] } | undefined> {
    const uid = this.#userId();
    if (uid === undefined) return undefined;
    const accounts = await accountsOfUser(this.#db, uid);
    return accounts.length > 1 ? { uid, accounts } : undefined;
  }

  #known(db: Queryable): Promise<Known> {
    const { account, key } = this.#named;
    return withDatabaseErrors(async () => {
      const { rows } = await db.execute<{
        keys: string[];
        user: string | null;
        salt: string | null;
      }>(sql`
        select
          array(select fingerprint from account_keys where account = ${account}) as keys,
          (select user_id from account_users where account = ${account} limit 1) as user,
          (select salt from key_salt) as salt`);
      const { rows: read } = await db.execute<{ bills: number }>(sql`
        select bills::float8 as bills
        from ledgers
        where account = ${account}
          and (first_unread_at is not null or bills > 0)
        order by ledgers.bills desc
        limit 1`);
      const { keys, user, salt } = onlyRow(rows, "what is known of a key");
      const fingerprint = salt === null ? undefined : fingerprintOf(key, salt);
      return {
        keys,
        userId: user ?? undefined,
        isRead: read.length > 0,
        hasBills: (read[0]?.bills ?? 0) > 0,
        fingerprint,
      };
    });
  }

  async #refuseOther(db: Queryable, fingerprint: string): Promise<void> {
    const { account } = this.#named;
    const isKey = eq(accountKeys.fingerprint, fingerprint);
    const rows = await withDatabaseErrors(() => db.select().from(accountKeys).where(isKey));
    const other = rows.find((row) => row.account !== account);
    if (other !== undefined) throw taken(account, other.account, "this API key's ledger");
  }
}

/** The accounts under which ledgers of a user are stored. @param productTypes only these; default all. */
async function accountsOfUser(
  db: Queryable,
  userId: string,
  productTypes?: readonly ProductType[],
): Promise<readonly string[]> {
  const { account, productType } = accountUsers;
  const isOf = productTypes && inArray(productType, [...productTypes]);
  const rows = await withDatabaseErrors(() =>
    db
      .selectDistinct({ account })
      .from(accountUsers)
      .where(and(eq(accountUsers.userId, userId), isOf))
      .orderBy(account),
  );
  return rows.map((row) => row.account);
}

/** @throws UsageError where one of the user's ledgers is stored under another name. */
async function refuseTakenUser(
  db: Queryable,
  account: string,
  userId: string,
  productTypes: readonly ProductType[],
): Promise<void> {
  const accounts = await accountsOfUser(db, userId, productTypes);
  const other = accounts.find((name) => name !== account);
  if (other !== undefined)
    throw taken(account, other, `user ${userId}'s ledger, which this API key reads,`);
}

// A key is long and random, so no slow hash is needed to keep it from being guessed.
const fingerprintOf = (key: Secret, salt: string): string =>
  createHmac("sha256", salt).update(key.reveal()).digest("hex");

/** The salt, made by whoever needs it first. */
async function makeSalt(db: Database): Promise<string> {
  const [row] = await withDatabaseErrors(() => db.select().from(keySalt));
  if (row !== undefined) return row.salt;
  const salt = randomBytes(32).toString("hex");
  await withDatabaseErrors(() =>
    db.insert(keySalt).values({ isOnly: true, salt }).onConflictDoNothing(),
  );
  return makeSalt(db);
}

const isPassing = ({ kind }: ExchangeError): boolean =>
  kind === "unavailable" || kind === "rate-limited" || kind === "clock";

const putBack = (account: string): string =>
  `nothing was written. Put the key of account ${account} back, or give this one a name of its own ` +
  '(ACCOUNT_NAME, or "name" in ACCOUNTS_FILE)';

const foreignKey = (account: string, told: string, { userId, hasBills }: Known): UsageError =>
  new UsageError(
    `this API key is user ${told}'s, and account ${account} is user ${userId}'s: it belongs to another account, ` +
      `and ${putBack(account)}` +
      (hasBills
        ? ""
        : `; if ${account} was read with a wrong key until now, sync --trust-key takes this one and reads its time again`),
  );

const unknownKey = (account: string): UsageError =>
  new UsageError(
    `this API key was not used for account ${account} before, and the exchange does not tell that both keys are ` +
      `of one user: ${putBack(account)}; if it certainly is the same account, sync --trust-key takes it and reads ` +
      "the last 90 days again",
  );

const taken = (account: string, other: string, what: string): UsageError =>
  new UsageError(
    `${what} is stored as account ${other}, and as ${account} it would be ` +
      `stored twice; name the account ${other} again, or rename what is stored: ` +
      `bill-sync accounts rename ${shellWord(other)} ${shellWord(account)}`,
  );
