import {
  type AccountExchange,
  exchangeOf,
  openExchangeAccess,
} from "../../app/exchange-session.ts";
import { proofText, proveKey } from "../../app/key-proof.ts";
import type { Account } from "../../config/account.ts";
import type { Config } from "../../config/config.ts";
import { accountBills } from "../../contract/account-bills.ts";
import { loanToValue } from "../../contract/loan-to-value.ts";
import type { Operation, Query } from "../../contract/operation.ts";
import type { ProductType } from "../../contract/product-types.ts";
import { symbols } from "../../contract/symbols.ts";
import { secondMs } from "../../contract/time.ts";
import { refuseTakenKey } from "../../db/accounts/account-keys.ts";
import type { Database } from "../../db/connect.ts";
import { lacksRight } from "../../db/database-errors.ts";
import { syncLeaseHolder } from "../../db/lease/sync-lease.ts";
import { takeVerifyLease, type VerifyLease } from "../../db/lease/verify-lease.ts";
import { AccountHeldError, ExchangeError } from "../../errors.ts";
import type { AskOptions, Client } from "../../exchange/client.ts";
import { isOfProductType } from "../../sync/failure-scope.ts";
import { formatDuration } from "../../terminal/format.ts";
import { type Check, checked, failed, ok } from "./check.ts";

type Tell = (check: Check) => void;

/** Checks that the exchange answers, its clock, and what each account's key may read there. */
export async function checkExchange(
  config: Config,
  /** Migrated; undefined where it is not, or away. */
  db: Database | undefined,
  tell: Tell,
  signal: AbortSignal,
): Promise<void> {
  await using access = openExchangeAccess();
  const { client, clock: exchangeClock } = exchangeOf(config, {}, access);
  try {
    await ask(client, symbols, { symbol: "BTCUSDT" }, { signal });
  } catch (error) {
    // Each account would only say the same again.
    tell(failed("exchange", error));
    return;
  }
  tell(ok("exchange", `${config.baseUrl.origin} answers`));
  tell(clockCheck(exchangeClock.offsetMs()));
  const found = await Promise.all(
    config.accounts.map((account) => {
      const exchange = exchangeOf(config, account, access);
      return checkAccount({ exchange, db, signal }, account);
    }),
  );
  for (const check of found.flat()) tell(check);
}

const skewMax = 5 * secondMs;

/** @param offsetMs exchange time less this machine's. */
export function clockCheck(offsetMs: number | undefined): Check {
  const name = "clock";
  if (offsetMs === undefined) {
    const remedy = "see that EXCHANGE_BASE_URL is the exchange";
    return { status: "warn", name, found: "the exchange's answer has no time", remedy };
  }
  const duration = formatDuration(Math.abs(offsetMs));
  const found = `this machine is ${duration} ${offsetMs > 0 ? "behind" : "ahead of"} the exchange`;
  if (Math.abs(offsetMs) <= skewMax) return ok(name, found);
  const remedy =
    "set the clock, for example by NTP; until then requests are signed with the exchange's time";
  return { status: "warn", name, found, remedy };
}

type AccountDeps = {
  readonly exchange: Pick<AccountExchange, "client" | "exchangeNow" | "useVerifyShare">;
  readonly db: Database | undefined;
  readonly signal: AbortSignal;
};

async function checkAccount(deps: AccountDeps, account: Account): Promise<readonly Check[]> {
  const key = await checked(`account ${account.name}`, () => checkKey(deps, account));
  if (key.status !== "ok" || account.ltv !== true) return [key];
  const ltv = await checked(`ltv ${account.name}`, () => checkLoanToValue(deps, account));
  return [key, ltv.status === "FAIL" ? { ...ltv, remedy: ltvRemedy } : ltv];
}

const ltvRemedy = "where the account has no institutional loan, do not ask for its loan-to-value";

/** Tries the key beside no sync: neither one that is at work nor one that begins meanwhile. */
async function checkKey(deps: AccountDeps, account: Account): Promise<Check> {
  const { db, exchange, signal } = deps;
  const { name, credentials } = account;
  if (db === undefined || credentials === undefined) return tryKey(deps, account);
  try {
    const named = { account: name, key: credentials.key };
    await refuseTakenKey(db, named);
    const holder = await syncLeaseHolder(db, name, signal);
    // Two requests beside those of a sync got 38 of the sync's refused.
    if (holder !== undefined) {
      const why = `${holder} holds the account and may use all of its rate limit`;
      return notTried(name, why, "run doctor again when that has ended");
    }
    await using lease = await takeVerifyLease(db, name, { signal });
    await exchange.useVerifyShare();
    const tried = await tryKey(deps, account, lease);
    if (tried.status !== "ok") return tried;
    const proving = { ...deps, db, assertHeld: lease.assertHeld, onFailure: () => undefined };
    const proof = await proveKey(proving, named, account);
    const text = proofText(proof);
    return text === undefined ? tried : { ...tried, found: `${tried.found}; ${text}` };
  } catch (error) {
    if (error instanceof AccountHeldError) return notTried(name, error.message);
    if (!lacksRight(error)) throw error;
    return notTried(
      name,
      "this database user may not see whether a sync of the account runs",
      "run doctor as the user that syncs",
    );
  }
}

/** Asks for one bill of each product type that the account is to read. */
async function tryKey(
  { exchange, signal }: AccountDeps,
  { name, productTypes }: Account,
  lease?: VerifyLease,
): Promise<Check> {
  const read: ProductType[] = [];
  const refused = new Map<ProductType, ExchangeError>();
  for (const productType of productTypes) {
    lease?.assertHeld();
    try {
      await ask(exchange.client, accountBills, { productType, limit: "1" }, { signal });
      read.push(productType);
    } catch (error) {
      if (!(error instanceof ExchangeError) || !isOfProductType(error.kind)) throw error;
      refused.set(productType, error);
    }
  }
  return keyCheck(name, read, refused);
}

/** Product types that are refused alike are named together. */
export function keyCheck(
  account: string,
  read: readonly ProductType[],
  refused: ReadonlyMap<ProductType, ExchangeError>,
): Check {
  const name = `account ${account}`;
  const able = read.length === 0 ? "reads no bills" : `reads bills of ${listed(read)}`;
  if (refused.size === 0) return ok(name, `its key ${able}`);
  const alike = Map.groupBy(refused, ([, { message }]) => message);
  const refusals = [...alike].map(
    ([message, types]) => `${listed(types.map(([type]) => type))}: ${message}`,
  );
  return { status: "FAIL", name, found: `its key ${able}; refused are ${refusals.join("; ")}` };
}

const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

const notTried = (account: string, why: string, remedy?: string): Check => ({
  status: "warn",
  name: `account ${account}`,
  found: `its key was not tried, ${why}`,
  ...(remedy !== undefined && { remedy }),
});

async function checkLoanToValue(
  { exchange, signal }: AccountDeps,
  { name, riskUnitIds = [] }: Account,
): Promise<Check> {
  const queries =
    riskUnitIds.length === 0 ? [{}] : riskUnitIds.map((riskUnitId) => ({ riskUnitId }));
  for (const query of queries) await ask(exchange.client, loanToValue, query, { signal });
  const units = riskUnitIds.length === 0 ? "its own" : `risk unit ${riskUnitIds.join(", ")}`;
  return ok(`ltv ${name}`, `its key reads the loan-to-value record of ${units}`);
}

/** Asks once: `doctor` reports an exchange that is away, or a ban, and does not wait for its end. */
const ask = (client: Client, operation: Operation, query: Query, options: AskOptions) =>
  client.ask(operation, query, {
    ...options,
    onAttempt(failure) {
      if (failure?.kind === "unavailable" || failure?.kind === "banned") throw failure;
    },
  });
