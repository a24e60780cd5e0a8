import { type Account, type AccountWithCredentials, withCredentials } from "../accounts/account.ts";
import type { Config } from "../accounts/config.ts";
import type { KeyInfo } from "../core/contract/key-info.ts";
import { loanToValue, unifiedLoanToValue } from "../core/contract/loan-to-value.ts";
import type { ProductType } from "../core/contract/product-types.ts";
import { symbols } from "../core/contract/symbols.ts";
import { readSideBySide } from "../core/exchange/address-limits.ts";
import { keyRightsText } from "../core/exchange/key-rights.ts";
import { type AccountExchange, exchangeOf, openExchangeAccess } from "../core/exchange/session.ts";
import type { Database } from "../core/postgres/connect.ts";
import { explained, lacksRight } from "../core/postgres/database-errors.ts";
import { noStates, readAccountStates } from "../core/store/accounts/account-states.ts";
import { readUsers, type Users } from "../core/store/lease/lease.ts";
import { Leases } from "../core/store/lease/leases.ts";
import { assertSomethingToRead, identifyAccount } from "../core/sync/account-mode.ts";
import { LedgerReader } from "../core/sync/ledger-reader.ts";
import type { AccountMode } from "../core/words/account-state.ts";
import { AccountHeldError, ExchangeError, firstThrown, messageOf } from "../lib/errors.ts";
import { printableLine } from "../lib/printable.ts";
import { secondMs } from "../lib/time.ts";
import { formatDuration } from "../output/output-format.ts";
import { readNotRecovered } from "../wings/recovery/recovery.ts";
import { type OpenAccount, openAccount } from "./open-account.ts";

/** The result of a check, and what to do about it. */
export type Check = {
  /** `warn`: everything works, but somebody should look. */
  readonly status: "ok" | "warn" | "FAIL";
  readonly name: string;
  readonly result: string;
  /** Absent if nothing is to be done, or if `result` says what to do. */
  readonly remedy?: string | undefined;
};

export type Report = (check: Check) => unknown;

export const ok = (name: string, result: string): Check => ({ status: "ok", name, result });

export const warned = (name: string, result: string, remedy?: string): Check => ({
  status: "warn",
  name,
  result,
  remedy,
});

/** A check that an error stopped. The messages of this program name the remedy. */
export const failed = (name: string, thrown: unknown): Check => ({
  status: "FAIL",
  name,
  result: messageOf(explained(firstThrown(thrown))),
});

/** Runs a check that may throw an error. */
export const checked = (name: string, check: () => Promise<Check>): Promise<Check> =>
  check().catch((error: unknown) => failed(name, error));

/** Checks that the exchange answers, the clock, and what each account's key may read. */
export async function checkExchange(
  config: Pick<Config, "baseUrl" | "accounts">,
  /** A migrated database; undefined if it is not migrated or cannot be reached. */
  db: Database | undefined,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  await using access = openExchangeAccess();
  const { client, clock: exchangeClock } = exchangeOf(config, {}, access);
  try {
    await client.ask(symbols, { symbol: "BTCUSDT" }, { signal, onAttempt: throwIfAway });
  } catch (error) {
    // Every account's check would fail with the same error.
    report(failed("exchange", error));
    return;
  }
  report(ok("exchange", `${config.baseUrl.origin} answers`));
  report(clockCheck(exchangeClock.offsetMs()));
  const users = db === undefined ? noUsers : await readUsers(db).catch(withoutRight);
  const check = async (wanted: Account): Promise<readonly Check[]> => {
    const account = await withCredentials(wanted, signal).catch((error: unknown) => ({ error }));
    if ("error" in account) return [failed(`account ${wanted.name}`, account.error)];
    const exchange = exchangeOf(config, account, access);
    return checkAccount({ exchange, db, signal, users }, account);
  };
  for (const result of await readSideBySide(config.accounts, check)) result.map(report);
}

const noUsers: Users = new Map();

/** A user who may not see leases tries no key either, where a sync might run. */
function withoutRight(error: unknown): Users {
  if (lacksRight(error)) return noUsers;
  throw error;
}

const skewMax = 5 * secondMs;

/** @param offsetMs the exchange's time minus this machine's. */
function clockCheck(offsetMs: number | undefined): Check {
  const name = "clock";
  if (offsetMs === undefined) {
    const remedy = "check that EXCHANGE_BASE_URL is the exchange's address";
    return warned(name, "the exchange's answer has no time", remedy);
  }
  const duration = formatDuration(Math.abs(offsetMs));
  const result = `this machine is ${duration} ${offsetMs > 0 ? "behind" : "ahead of"} the exchange`;
  if (Math.abs(offsetMs) <= skewMax) return ok(name, result);
  const remedy =
    "set the clock, for example by NTP; until then requests are signed with the exchange's time";
  return warned(name, result, remedy);
}

type AccountDeps = {
  readonly exchange: Pick<AccountExchange, "client" | "exchangeNow" | "useLimitsOf">;
  readonly db: Database | undefined;
  readonly users: Users;
  readonly signal: AbortSignal;
};

/**
 * Tries an account's key under its lease: beside a sync, two requests got 38 of the sync's requests refused.
 */
async function checkAccount(
  deps: AccountDeps,
  account: AccountWithCredentials,
): Promise<readonly Check[]> {
  const { db, exchange } = deps;
  const { name, uid } = account;
  const check = `account ${name}`;
  const checkKey = async (opened?: OpenAccount) => {
    const key = await checked(check, async () => {
      const tried = await tryKey(deps, account, opened?.assertHeld);
      const key = keyCheck(account, tried);
      if (key.status !== "FAIL") await opened?.checkKey({ ...tried, productTypes: tried.read });
      return key;
    });
    return withLoanToValue(deps, account, key);
  };
  if (db === undefined) {
    if (uid !== undefined) await exchange.useLimitsOf(uid);
    return checkKey();
  }
  try {
    const opening = { ...deps, db, leases: new Leases(db) };
    await using opened = await openAccount(opening, account, exchange);
    return [...(await checkKey(opened)), ...(await recoveryChecks(db, name))];
  } catch (error) {
    if (error instanceof AccountHeldError)
      return [warned(check, `its key was not tried, ${error.message}`)];
    if (!lacksRight(error)) return [failed(check, error)];
    const result =
      "its key was not tried, this database user may not see whether a sync of the account runs";
    return [warned(check, result, "run doctor as the user that syncs")];
  }
}

/** Asks for the account's mode, and for bills of each product type to read. */
async function tryKey(
  { db, exchange: { client }, signal }: AccountDeps,
  account: Account,
  assertHeld: () => void = () => undefined,
): Promise<TriedKey> {
  const { name } = account;
  const states = db === undefined ? noStates : await readAccountStates(db, name);
  const asking = { client, assertHeld, signal, onAttempt: throwIfAway, onFailure: throwIfAway };
  const readerOf = (productType: ProductType) =>
    new LedgerReader(asking, { account: name, productType });
  const { mode, info, ledgers } = await identifyAccount(asking, account, states.of(name), readerOf);
  if (ledgers.length === 0) assertSomethingToRead(account, mode);
  for (const ledger of ledgers) {
    if (!ledger.hasAnswered && ledger.refusal === undefined) await ledger.probe();
  }
  const read = ledgers.filter(({ refusal }) => refusal === undefined);
  const refused = ledgers.flatMap(({ ledger, refusal }) =>
    refusal === undefined ? [] : [[ledger.productType, refusal] as const],
  );
  const productTypes = read.map(({ ledger }) => ledger.productType);
  return { mode, read: productTypes, refused: new Map(refused), info };
}

/** `doctor` reports an exchange that is away or a ban, and does not wait for its end. */
function throwIfAway(failure: ExchangeError | undefined): void {
  if (failure?.kind === "unavailable" || failure?.kind === "banned") throw failure;
}

async function withLoanToValue(
  { exchange, signal }: AccountDeps,
  { name, ltv = false, riskUnitIds = [] }: Account,
  key: Check,
): Promise<readonly Check[]> {
  if (key.status !== "ok" || !ltv) return [key];
  const asking = { signal, onAttempt: throwIfAway };
  const tried = await checked(`ltv ${name}`, async () => {
    const queries = riskUnitIds.length === 0 ? [{}] : riskUnitIds.map((id) => ({ riskUnitId: id }));
    for (const query of queries) {
      await exchange.client.ask(loanToValue, query, asking).catch((error: unknown) => {
        if (error instanceof ExchangeError && error.kind === "other-mode")
          return exchange.client.ask(unifiedLoanToValue, query, asking);
        throw error;
      });
    }
    const units = riskUnitIds.length === 0 ? "its own" : `risk unit ${riskUnitIds.join(", ")}`;
    return ok(`ltv ${name}`, `its key reads the loan-to-value record of ${units}`);
  });
  const remedy = "where the account has no institutional loan, do not ask for its loan-to-value";
  return [key, tried.status === "FAIL" ? { ...tried, remedy } : tried];
}

/** What the last sync found of tax records that it did not believe. */
async function recoveryChecks(db: Database, account: string): Promise<readonly Check[]> {
  const notRecovered = await readNotRecovered(db, account);
  const alike = Map.groupBy(notRecovered, ({ why }) => why);
  return [...alike].map(([why, ledgers]) => {
    const types = listed(ledgers.map(({ productType }) => productType));
    return warned(`recovery ${account}`, `older bills of ${types} are not recovered: ${why}`);
  });
}

/** The result of trying an account's key. */
export type TriedKey = {
  readonly mode: AccountMode;
  readonly read: readonly ProductType[];
  readonly refused: ReadonlyMap<ProductType, ExchangeError>;
  /** The error where the exchange tells nothing about the key. */
  readonly info: KeyInfo | ExchangeError;
};

/** The check of an account's key. Product types with equal refusals are named together. */
export function keyCheck(
  { name: account, uid, readsAll = false }: Pick<Account, "name" | "uid" | "readsAll">,
  { mode, read, refused, info }: TriedKey,
): Check {
  const name = `account ${account}`;
  const able = read.length === 0 ? "reads no bills" : `reads bills of ${listed(read)}`;
  const alike = Map.groupBy(refused, ([, { message }]) => message);
  const refusals = [...alike].map(
    ([message, types]) => `${listed(types.map(([type]) => type))}: ${message}`,
  );
  const result = `a ${mode} account; its key ${able}`;
  // Where the configuration names no product type, one that the key may not read is no failure.
  if (refusals.length > 0 && (read.length === 0 || !readsAll))
    return { status: "FAIL", name, result: `${result}; refused: ${refusals.join("; ")}` };
  const parts = [result, ...refusals.map((text) => `not available to it: ${text}`)];
  const rights = keyRightsText(info);
  parts.push(rights.text);
  const remedies = rights.remedy === undefined ? [] : [rights.remedy];
  const userId = info instanceof Error ? null : info.userId;
  if (uid !== undefined && userId !== null && uid !== userId) {
    parts.push(`its uid is configured as ${uid}, and the exchange says ${printableLine(userId)}`);
    remedies.push("correct its uid: accounts of one user share its rate limit");
  }
  if (remedies.length === 0) return ok(name, parts.join("; "));
  return warned(name, parts.join("; "), remedies.join("; "));
}

const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
