import { createHmac, randomBytes } from "node:crypto";
import { and, eq, ne, sql } from "drizzle-orm";
import { ExchangeError, UsageError } from "../../lib/errors.ts";
import { shellWord } from "../../lib/printable.ts";
import type { Secret } from "../../lib/secret.ts";
import { type EpochMs, epochMs, hourMs, isoTime } from "../../lib/time.ts";
import {
  type Database,
  inTransaction,
  type Queryable,
  type Transaction,
} from "../postgres/connect.ts";
import { withDatabaseErrors } from "../postgres/database-errors.ts";
import { accountKeys, accountUsers, keySalt } from "../postgres/schema/accounts-schema.ts";
import { isOneOf, onlyRow, textArray } from "../postgres/values.ts";
import type { KeyAnswer } from "../words/account-state.ts";
import type { Ledger } from "../words/ledger.ts";
import { startSlackMs } from "../words/plan.ts";
import { firstUnread } from "./record-time.ts";

/*
 * Whether an API key may read an account. The exchange's user decides: a key is the account's if both are of one user.
 * Where the exchange does not tell, a key that has read the account before is its key, known by its fingerprint, and
 * of an account that was never read, any key is. Another key needs the word of this program's user.
 */

/** An account's name here, and the API key that is to be used under it. */
type NamedKey = { readonly account: string; readonly key: Secret };

type Choices = {
  /** Whether it is of demo trading, whose ledgers have the names of real ones. Default false. */
  readonly isDemo?: boolean;
  /** Whether this program's user says that it is the account's. Default false. */
  readonly isTrusted?: boolean;
};

/** What the database knows of an account and of a key. */
type Known = {
  /** This key's fingerprint. */
  readonly fingerprint: string;
  /** The fingerprints of the keys that read the account. */
  readonly keys: readonly string[];
  /** The account that this key reads; null where it reads none. */
  readonly readBy: string | null;
  /** The user whose account it is; null where the exchange never told. */
  readonly userId: string | null;
  /** Whether any of its ledgers was ever read, and whether bills are stored of one. */
  readonly isRead: boolean;
  readonly hasBills: boolean;
};

/** The key with which an account is read. */
export class AccountKey {
  readonly #db: Database;
  readonly #named: NamedKey;
  readonly #choices: Choices;

  constructor(db: Database, named: NamedKey, choices: Choices = {}) {
    this.#db = db;
    this.#named = named;
    this.#choices = choices;
  }

  /** Before the exchange is asked. @throws UsageError where the key reads an account of another name. */
  async refuseTaken(): Promise<void> {
    this.#refuseOtherName(await withDatabaseErrors(() => this.#known(this.#db)));
  }

  /**
   * Decides whether the key is this account's. Writes nothing.
   * @returns whether no run has read the account with it.
   * @throws UsageError where it is another account's, or nobody knows; ExchangeError where the next run may be told.
   */
  check(answer: KeyAnswer): Promise<{ readonly isNew: boolean }> {
    return withDatabaseErrors(async () =>
      this.#judge(this.#db, await this.#known(this.#db), answer),
    );
  }

  /**
   * Makes it the key that reads the account, before time is planned or a row is stored. A key that is only trusted
   * takes the place of all earlier ones, and reads again all time that it can: a key of another, empty account would
   * else hide all that it was not served.
   * @param horizon the oldest time that can be read again.
   * @param checkHeld fails the transaction where another run may hold the account.
   * @throws as `check` does.
   */
  take(
    answer: KeyAnswer,
    horizon: EpochMs,
    checkHeld: (tx: Transaction) => Promise<unknown>,
  ): Promise<{ readonly isNew: boolean }> {
    const { account } = this.#named;
    const isAccounts = eq(accountKeys.account, account);
    return withDatabaseErrors(() =>
      inTransaction(this.#db, async (tx) => {
        await checkHeld(tx);
        await tx.insert(keySalt).values(newSalt()).onConflictDoNothing();
        const known = await this.#known(tx);
        const { fingerprint, isRead } = known;
        const { isNew, userId, isOurs } = await this.#judge(tx, known, answer);
        if (!isOurs) {
          await tx.delete(accountKeys).where(isAccounts);
          await tx.delete(accountUsers).where(eq(accountUsers.account, account));
          const isOtherUser = userId !== undefined && known.userId !== null;
          await forgetCoverage(tx, account, isOtherUser ? undefined : horizon);
        } else if (!isRead) {
          // Nothing was read with an earlier one, which may be another account's.
          await tx
            .delete(accountKeys)
            .where(and(isAccounts, ne(accountKeys.fingerprint, fingerprint)));
        }
        await tx.insert(accountKeys).values({ fingerprint, account }).onConflictDoNothing();
        const types = answer.productTypes.toSorted();
        if (userId !== undefined && types.length > 0)
          await tx
            .insert(accountUsers)
            .values(types.map((productType) => ({ userId, productType, account })))
            .onConflictDoNothing();
        // Another run may have given the key, or the user's ledger, another name meanwhile.
        this.#refuseOtherName(await this.#known(tx));
        await this.#refuseOtherNameOf(tx, userId, answer);
        return { isNew };
      }),
    );
  }

  async #judge(db: Queryable, known: Known, answer: KeyAnswer) {
    const { account } = this.#named;
    const { isTrusted = false } = this.#choices;
    const { info } = answer;
    const userId = this.#userOf(answer);
    await this.#refuseOtherNameOf(db, userId, answer);
    const isNew = !known.keys.includes(known.fingerprint);
    if (isNew && !isTrusted && info instanceof ExchangeError && isPassing(info)) throw info;
    const areBothTold = userId !== undefined && known.userId !== null;
    const isOurs = areBothTold
      ? userId === known.userId
      : !isNew || known.keys.length === 0 || !known.isRead;
    // Two users' bills would be in one ledger, even if the key is trusted.
    if (!isOurs && areBothTold && (known.hasBills || !isTrusted))
      throw foreignKey(account, userId, known);
    if (!isOurs && !isTrusted) throw unknownKey(account);
    return { isNew, isOurs, userId };
  }

  /** The user that the exchange told, as `account_users` names him. */
  #userOf({ info }: KeyAnswer): string | undefined {
    if (info instanceof Error || info.userId === null) return undefined;
    return this.#choices.isDemo ? `demo ${info.userId}` : info.userId;
  }

  async #known(db: Queryable): Promise<Known> {
    const { account, key } = this.#named;
    const [kept] = await db.select().from(keySalt);
    // Without a salt there is no key either.
    const fingerprint = kept === undefined ? "" : fingerprintOf(key, kept.salt);
    const { rows } = await db.execute<Pick<Known, "keys" | "readBy" | "userId">>(sql`
      select
        array(select fingerprint from account_keys where account = ${account}) as keys,
        (select account from account_keys where fingerprint = ${fingerprint}) as "readBy",
        (select user_id from account_users where account = ${account} limit 1) as "userId"`);
    const { rows: read } = await db.execute<{ hasBills: boolean }>(sql`
      select bills > 0 as "hasBills"
      from ledgers
      where account = ${account}
        and (first_unread_at is not null or bills > 0)
      order by ledgers.bills desc
      limit 1`);
    const ofLedgers = { isRead: read.length > 0, hasBills: read[0]?.hasBills ?? false };
    return { ...onlyRow(rows, "what is known of a key"), ...ofLedgers, fingerprint };
  }

  #refuseOtherName({ readBy }: Known): void {
    const { account } = this.#named;
    if (readBy !== null && readBy !== account)
      throw taken(account, readBy, "this API key's ledger");
  }

  async #refuseOtherNameOf(
    db: Queryable,
    userId: string | undefined,
    { productTypes }: KeyAnswer,
  ): Promise<void> {
    const { account } = this.#named;
    const { rows } = await db.execute<{ account: string }>(sql`
      select account
      from account_users
      where user_id = ${userId ?? null}
        and product_type = any(${textArray(productTypes)}::text[])
        and account <> ${account}
      order by account
      limit 1`);
    if (rows[0] !== undefined)
      throw taken(account, rows[0].account, `user ${userId}'s ledger, which this API key reads,`);
  }
}

/** The exchange's user of each account, by name, where he has several accounts here, which share his rate limit. */
export async function readSharedUsers(
  db: Queryable,
  accounts?: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await withDatabaseErrors(() =>
    db.execute<{ account: string; userId: string }>(sql`
      select distinct account, user_id as "userId"
      from account_users
      where user_id in (
        select user_id
        from account_users
        group by user_id
        having count(distinct account) > 1
      )
        and ${isOneOf(accounts)}`),
  );
  return new Map(rows.map(({ account, userId }) => [account, userId]));
}

// A key is long and random, so no slow hash is needed to keep it from being guessed.
const fingerprintOf = (key: Secret, salt: string): string =>
  createHmac("sha256", salt).update(key.reveal()).digest("hex");

const newSalt = () => ({ isOnly: true, salt: randomBytes(32).toString("hex") });

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

// What leaves the exchange's 90 days before it is read again would count as lost.
const reachMarginMs = hourMs;

/**
 * Makes unread what is covered of an account's ledgers and can be read again.
 * @param horizon the oldest time that can be; undefined to make all unread.
 */
export async function forgetCoverage(
  tx: Transaction,
  account: string,
  horizon: EpochMs | undefined,
): Promise<void> {
  const timeOf = (ms: number) => sql`${isoTime(epochMs(ms))}::timestamptz`;
  // A ledger that began a little before the horizon is planned anew without a loss. Of one without a bill, nothing
  // shows that any key but an empty account's has read it.
  const kept =
    horizon === undefined
      ? sql`'{}'::tstzmultirange`
      : sql`case
          when bills > 0 and lower(covered) < ${timeOf(horizon - startSlackMs)}
          then covered * tstzmultirange(tstzrange(null, ${timeOf(horizon + reachMarginMs)}))
          else '{}'
        end`;
  await tx.execute(sql`
    delete from windows
    where account = ${account}`);
  const { rows } = await tx.execute<Pick<Ledger, "productType">>(sql`
    update ledgers
    set covered = ${kept}, open = '{}'
    where account = ${account}
    returning product_type as "productType"`);
  const types = rows.map(({ productType }) => productType);
  await tx.execute(firstUnread(account, types));
}
