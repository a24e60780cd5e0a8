import { systemClock } from "../../clock.ts";
import type { Account, Config } from "../../config/config.ts";
import { accountBills } from "../../contract/account-bills.ts";
import { loanToValue } from "../../contract/loan-to-value.ts";
import type { Operation, Query } from "../../contract/operation.ts";
import { isDemoProductType } from "../../contract/product-types.ts";
import { symbols } from "../../contract/symbols.ts";
import { secondMs } from "../../contract/time.ts";
import { refuseTakenKey } from "../../db/account-keys.ts";
import type { Database } from "../../db/connect.ts";
import { lacksRight } from "../../db/database-errors.ts";
import { type Guest, visitAccount } from "../../db/guest.ts";
import { holderAtWork } from "../../db/lease.ts";
import { AccountHeldError } from "../../errors.ts";
import { createAddressLimits } from "../../exchange/address-limits.ts";
import type { AskOptions, Client } from "../../exchange/client.ts";
import { openTransport } from "../../exchange/transport.ts";
import { type AccountExchange, exchangeOf } from "../exchange.ts";
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
  await using transport = openTransport();
  const clock = systemClock;
  const addressLimits = createAddressLimits(clock);
  const deps = { transport, clock, random: Math.random, addressLimits };
  const { client, clock: exchangeClock } = exchangeOf(config, {}, deps);
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
      const exchange = exchangeOf(config, account, deps);
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
    return { status: "warn", name, found: "the exchange's answer tells no time", remedy };
  }
  const seconds = (Math.abs(offsetMs) / secondMs).toFixed(1);
  const found = `this machine is ${seconds} s ${offsetMs > 0 ? "behind" : "ahead of"} the exchange`;
  if (Math.abs(offsetMs) <= skewMax) return ok(name, found);
  const remedy = "set the clock, by NTP for one; requests are signed with the exchange's time";
  return { status: "warn", name, found, remedy };
}

type AccountDeps = {
  readonly exchange: Pick<AccountExchange, "client" | "beGuest">;
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
    await refuseTakenKey(db, { account: name, key: credentials.key });
    const holder = await holderAtWork(db, name);
    // Two requests beside those of a sync got 38 of the sync's refused.
    if (holder !== undefined) {
      const why = `${holder} holds the account and may use all of its limit`;
      return notTried(name, why, "run doctor again when that has ended");
    }
    await using guest = await visitAccount(db, name, { signal });
    await exchange.beGuest();
    return await tryKey(deps, account, guest);
  } catch (error) {
    if (error instanceof AccountHeldError) return notTried(name, error.message);
    if (!lacksRight(error)) throw error;
    return notTried(
      name,
      "this user cannot tell a sync of it",
      "run doctor as the user that syncs",
    );
  }
}

/** A key is for live or for demo trading: one bill of each that the account is to read. */
async function tryKey(
  { exchange, signal }: AccountDeps,
  { name, productTypes }: Account,
  guest?: Guest,
): Promise<Check> {
  const one = [false, true].flatMap((demo) =>
    productTypes.filter((type) => isDemoProductType(type) === demo).slice(0, 1),
  );
  for (const productType of one) {
    const demo = isDemoProductType(productType);
    guest?.assertHeld();
    await ask(exchange.client, accountBills, { productType, limit: "1" }, { demo, signal });
  }
  return ok(`account ${name}`, `its key reads bills of ${one.join(" and ")}`);
}

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

/** Asks, and does not wait for an exchange that is away: whoever looks wants to know it now. */
const ask = (client: Client, operation: Operation, query: Query, options: AskOptions) =>
  client.ask(operation, query, {
    ...options,
    onAttempt(failure) {
      if (failure?.kind === "unavailable") throw failure;
    },
  });
