import { createHmac, randomBytes } from "node:crypto";
import { sql } from "drizzle-orm";
import { ExchangeError, UsageError } from "../../lib/errors.ts";
import { shellWord } from "../../lib/printable.ts";
import type { Secret } from "../../lib/secret.ts";
import { type EpochMs, hourMs } from "../../lib/time.ts";
import {
  type Database,
  inTransaction,
  type Queryable,
  type Transaction,
} from "../postgres/connect.ts";
import { onlyRow, textArray, timeOf } from "../postgres/values.ts";
import type { KeyAnswer } from "../words/account-state.ts";
import type { Ledger } from "../words/ledger.ts";
import { startSlackMs } from "../words/plan.ts";
import { checkLease, type LeaseInUse } from "./lease.ts";
import { setFirstUnread } from "./record-time.ts";

/*
 * Whether an API key may read an account. The exchange's user decides: a key is the account's if both are of one user.
 * Where the exchange does not tell, a key that has read the account before is its key, known by its fingerprint, and
 * of an account that was never read, any key is. Another key needs the word of this program's user.
 */

/** The API key that is to be used under an account's name here. */
export type NamedKey = {
  readonly account: string;
  readonly key: Secret;
  /** Whether it is of demo trading, whose ledgers have the names of real ones. Default false. */
  readonly isDemo?: boolean;
  /** Whether this program's user says that it is the account's. Default false. */
  readonly isTrusted?: boolean;
};

/** What is known of a key and of the account. */
type Known = {
  readonly fingerprint: string;
  /** The user whose key it is, as `account_users` names him; null where the exchange does not tell. */
  readonly user: string | null;
  /** The account that this key reads, and that which is one of its user's ledgers, if they have another name. */
  readonly otherOfKey: string | null;
  readonly otherOfUser: string | null;
  /** Whether it has read the account, and whether any key has. */
  readonly isKnown: boolean;
  readonly hasKeys: boolean;
  /** The user whose account it is; null where the exchange never told. */
  readonly owner: string | null;
  /** Whether any of its ledgers was ever read, and whether bills are stored of one. */
  readonly isRead: boolean;
  readonly hasBills: boolean;
};

/** Before the exchange is asked. @throws UsageError where the key reads an account of another name. */
export async function refuseKeyOfAnother(db: Queryable, named: NamedKey): Promise<void> {
  refuseOtherName(named, await readKnown(db, named));
}

/**
 * Decides whether the key is the account's. Writes nothing.
 * @returns whether no run has read the account with it.
 * @throws UsageError where it is another account's, or nobody knows; ExchangeError where the next run may be told.
 */
export async function checkKey(db: Queryable, named: NamedKey, answer: KeyAnswer) {
  const known = await readKnown(db, named, answer);
  isOurs(named, known, answer);
  return { isNew: !known.isKnown };
}

/**
 * Makes it the key that reads the account, before time is planned or a row is stored. A key that is only trusted
 * takes the place of all earlier ones, and reads again all time that it can: a key of another, empty account would
 * else hide all that it was not served.
 * @param horizon the oldest time that can be read again.
 * @returns and throws as {@link checkKey} does.
 */
export function acceptKey(
  db: Database,
  named: NamedKey,
  answer: KeyAnswer,
  { lease, horizon }: { readonly lease: LeaseInUse; readonly horizon: EpochMs },
): Promise<{ readonly isNew: boolean }> {
  const { account } = named;
  return inTransaction(db, async (tx) => {
    await checkLease(tx, lease);
    await tx.execute(sql`
      insert into key_salt (is_only, salt)
      values (true, ${randomBytes(32).toString("hex")})
      on conflict do nothing`);
    const known = await readKnown(tx, named, answer);
    const areKept = isOurs(named, known, answer);
    // Nothing was read with the earlier keys of an account that was never read: they may be another account's.
    if (!areKept || !known.isRead)
      await tx.execute(sql`delete from account_keys where account = ${account}`);
    if (!areKept) {
      await tx.execute(sql`delete from account_users where account = ${account}`);
      await forgetCoverage(tx, account, horizon);
    }
    await tx.execute(sql`
      insert into account_keys (fingerprint, account)
      values (${known.fingerprint}, ${account})
      on conflict do nothing`);
    await tx.execute(sql`
      insert into account_users (user_id, product_type, account)
      select ${known.user}, product_type, ${account}
      from unnest(${textArray(answer.productTypes.toSorted())}::text[]) as read (product_type)
      where ${known.user}::text is not null
      on conflict do nothing`);
    // Another run may have given the key, or the user's ledger, another name meanwhile.
    refuseOtherName(named, await readKnown(tx, named, answer));
    return { isNew: !known.isKnown };
  });
}

/** @returns whether the key is the account's; false where it is only trusted. @throws as {@link checkKey} does. */
function isOurs(named: NamedKey, known: Known, { info }: KeyAnswer): boolean {
  const { account, isTrusted = false } = named;
  const { user, owner, isKnown, hasKeys, isRead, hasBills } = known;
  refuseOtherName(named, known);
  if (!isKnown && !isTrusted && info instanceof ExchangeError && isPassing(info)) throw info;
  const areTold = user !== null && owner !== null;
  if (areTold ? user === owner : isKnown || !hasKeys || !isRead) return true;
  const putBack =
    `nothing was written. Put the key of account ${account} back, or give this one a name of its own ` +
    '(ACCOUNT_NAME, or "name" in ACCOUNTS_FILE)';
  // Two users' bills would be in one ledger, even if the key is trusted.
  if (areTold && (hasBills || !isTrusted))
    throw new UsageError(
      `this API key is user ${user}'s, and account ${account} is user ${owner}'s: it belongs to another account, ` +
        `and ${putBack}` +
        (hasBills
          ? ""
          : `; if ${account} was read with a wrong key until now, sync --trust-key takes this one and reads its time again`),
    );
  if (!isTrusted)
    throw new UsageError(
      `this API key was not used for account ${account} before, and the exchange does not tell that both keys are ` +
        `of one user: ${putBack}; if it certainly is the same account, sync --trust-key takes it and reads ` +
        "the last 90 days again",
    );
  return false;
}

const isPassing = ({ kind }: ExchangeError): boolean =>
  kind === "unavailable" || kind === "rate-limited" || kind === "clock";

/** @param answer undefined before the exchange was asked. */
async function readKnown(
  db: Queryable,
  { account, key, isDemo = false }: NamedKey,
  answer?: KeyAnswer,
): Promise<Known> {
  const { rows: salts } = await db.execute<{ salt: string }>(sql`select salt from key_salt`);
  // A key is long and random, so no slow hash is needed to keep it from being guessed. Without a salt there is no key.
  const fingerprint = salts[0]
    ? createHmac("sha256", salts[0].salt).update(key.reveal()).digest("hex")
    : "";
  const { info, productTypes = [] } = answer ?? {};
  const userId = info === undefined || info instanceof Error ? null : info.userId;
  const user = userId !== null && isDemo ? `demo ${userId}` : userId;
  const { rows } = await db.execute<Omit<Known, "fingerprint" | "user">>(sql`
    select
      (
        select account
        from account_keys
        where fingerprint = ${fingerprint}
          and account <> ${account}
      ) as "otherOfKey",
      (
        select account
        from account_users
        where user_id = ${user}
          and product_type = any(${textArray(productTypes)}::text[])
          and account <> ${account}
        order by account
        limit 1
      ) as "otherOfUser",
      exists (select from account_keys where account = ${account} and fingerprint = ${fingerprint}) as "isKnown",
      exists (select from account_keys where account = ${account}) as "hasKeys",
      (select user_id from account_users where account = ${account} limit 1) as owner`);
  const { rows: read } = await db.execute<Pick<Known, "isRead" | "hasBills">>(sql`
    select
      coalesce(bool_or(first_unread_at is not null or bills > 0), false) as "isRead",
      coalesce(bool_or(bills > 0), false) as "hasBills"
    from ledgers
    where account = ${account}`);
  return {
    ...{ fingerprint, user },
    ...onlyRow(rows, "what is known of a key"),
    ...onlyRow(read, "what is known of an account"),
  };
}

/** @throws UsageError where the key, or its user's ledger, is stored under another name. */
function refuseOtherName({ account }: NamedKey, { user, otherOfKey, otherOfUser }: Known): void {
  const other = otherOfKey ?? otherOfUser;
  if (other === null) return;
  const what =
    otherOfKey === null
      ? `user ${user}'s ledger, which this API key reads,`
      : "this API key's ledger";
  throw new UsageError(
    `${what} is stored as account ${other}, and as ${account} it would be ` +
      `stored twice; name the account ${other} again, or rename what is stored: ` +
      `bill-sync accounts rename ${shellWord(other)} ${shellWord(account)}`,
  );
}

// What leaves the exchange's 90 days before it is read again would count as lost.
const reachMarginMs = hourMs;

/** Makes unread what is covered of an account's ledgers and can be read again. @param horizon the oldest time that can. */
export async function forgetCoverage(
  tx: Transaction,
  account: string,
  horizon: EpochMs,
): Promise<void> {
  await tx.execute(sql`
    delete from windows
    where account = ${account}`);
  // A ledger that began a little before the horizon is planned anew without a loss. Of one without a bill, nothing
  // shows that any key but an empty account's has read it.
  const { rows } = await tx.execute<Pick<Ledger, "productType">>(sql`
    update ledgers
    set
      covered = case
        when bills > 0 and lower(covered) < ${timeOf(horizon - startSlackMs)}
        then covered * tstzmultirange(tstzrange(null, ${timeOf(horizon + reachMarginMs)}))
        else '{}'
      end,
      open = '{}'
    where account = ${account}
    returning product_type as "productType"`);
  const types = rows.map(({ productType }) => productType);
  await tx.execute(setFirstUnread(account, types));
}
