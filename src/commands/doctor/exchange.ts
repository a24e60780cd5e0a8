import { billsApiOf } from "../../contract/bills-api.ts";
import { loanToValue, unifiedLoanToValue } from "../../contract/loan-to-value.ts";
import type { Operation, Query } from "../../contract/operation.ts";
import type { ProductType } from "../../contract/product-types.ts";
import { symbols } from "../../contract/symbols.ts";
import { secondMs } from "../../contract/time.ts";
import { accountInfo, accountSettings } from "../../contract/unified-account.ts";
import { refuseTakenKey } from "../../db/accounts/account-keys.ts";
import { noStates, readAccountStates } from "../../db/accounts/account-states.ts";
import type { Database } from "../../db/connect.ts";
import { lacksRight } from "../../db/database-errors.ts";
import { holdAccount } from "../../db/lease/hold-account.ts";
import type { Lease } from "../../db/lease/lease.ts";
import { readUsers, type Users } from "../../db/lease/leased-accounts.ts";
import { Leases } from "../../db/lease/leases.ts";
import { AccountHeldError, ExchangeError, type ExchangeErrorKind } from "../../errors.ts";
import { readSideBySide } from "../../exchange/accounts-at-once.ts";
import type { AskOptions, Client } from "../../exchange/client.ts";
import { type AccountExchange, exchangeOf, openExchangeAccess } from "../../exchange/session.ts";
import { proofText, proveKey } from "../../ledger/account-key.ts";
import { formatDuration } from "../../output/format.ts";
import { type Account, withCredentials } from "../../roster/account.ts";
import type { Config } from "../../roster/config.ts";
import { askMode, refuseNothing } from "../../sync/account-mode.ts";
import { type AccountMode, modeOf } from "../../sync/account-state.ts";
import { isOfProductType } from "../../sync/failure-scope.ts";
import { type Check, checked, failed, ok } from "./check.ts";
import { type KeyRights, keyCheck } from "./key-check.ts";

type Tell = (check: Check) => void;

/** Checks that the exchange answers, the clock, and what each account's key may read. */
export async function checkExchange(
  config: Pick<Config, "baseUrl" | "locale" | "accounts">,
  /** A migrated database; undefined if it is not migrated or cannot be reached. */
  db: Database | undefined,
  tell: Tell,
  signal: AbortSignal,
): Promise<void> {
  await using access = openExchangeAccess();
  const { client, clock: exchangeClock } = exchangeOf(config, {}, access);
  try {
    await ask(client, symbols, { symbol: "BTCUSDT" }, { signal });
  } catch (error) {
    // Every account's check would fail with the same error.
    tell(failed("exchange", error));
    return;
  }
  tell(ok("exchange", `${config.baseUrl.origin} answers`));
  tell(clockCheck(exchangeClock.offsetMs()));
  const users = db === undefined ? noUsers : await readUsers(db).catch(withoutRight);
  const stored = { db, leases: db && new Leases(db), users };
  const check = async (wanted: Account): Promise<readonly Check[]> => {
    const account = await withCredentials(wanted, signal).catch((error: unknown) => ({ error }));
    if ("error" in account) return [failed(`account ${wanted.name}`, account.error)];
    const exchange = exchangeOf(config, account, access);
    return checkAccount({ exchange, ...stored, signal }, account);
  };
  const found = await readSideBySide(config.accounts, check);
  for (const check of found.flat()) tell(check);
}

const noUsers: Users = new Map();

/** A user who may not see leases tries no key either, where a sync might run. */
function withoutRight(error: unknown): Users {
  if (lacksRight(error)) return noUsers;
  throw error;
}

const skewMax = 5 * secondMs;

/** @param offsetMs the exchange's time minus this machine's. */
export function clockCheck(offsetMs: number | undefined): Check {
  const name = "clock";
  if (offsetMs === undefined) {
    const remedy = "check that EXCHANGE_BASE_URL is the exchange's address";
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
  readonly exchange: Pick<AccountExchange, "client" | "exchangeNow" | "useLimitsOf">;
  readonly db: Database | undefined;
  readonly leases: Leases | undefined;
  readonly users: Users;
  readonly signal: AbortSignal;
};

/**
 * Tries an account's key under its lease: beside a sync, two requests got 38 of the sync's requests refused.
 */
async function checkAccount(deps: AccountDeps, account: Account): Promise<readonly Check[]> {
  const { db, leases, users, exchange, signal } = deps;
  const { name, credentials } = account;
  const uid = account.uid ?? users.get(name);
  if (db === undefined || leases === undefined || credentials === undefined) {
    if (uid !== undefined) await exchange.useLimitsOf(uid);
    const tried = async () => (await tryKey(deps, account)).check;
    return withLoanToValue(deps, account, await checked(`account ${name}`, tried));
  }
  try {
    const named = { account: name, key: credentials.key };
    await refuseTakenKey(db, named);
    await using lease = await holdAccount({ leases, exchange }, { name, uid }, { signal });
    const proved = async () => {
      const { check, mode } = await tryKey(deps, account, lease);
      if (check.status === "FAIL") return check;
      const proving = { ...deps, db, assertHeld: lease.assertHeld, onFailure: () => undefined };
      const text = proofText(await proveKey(proving, named, mode));
      return text === undefined ? check : { ...check, found: `${check.found}; ${text}` };
    };
    return await withLoanToValue(deps, account, await checked(`account ${name}`, proved));
  } catch (error) {
    if (error instanceof AccountHeldError) return [notTried(name, error.message)];
    if (!lacksRight(error)) return [failed(`account ${name}`, error)];
    const why = "this database user may not see whether a sync of the account runs";
    return [notTried(name, why, "run doctor as the user that syncs")];
  }
}

async function withLoanToValue(
  deps: AccountDeps,
  account: Account,
  key: Check,
): Promise<readonly Check[]> {
  if (key.status !== "ok" || account.ltv !== true) return [key];
  const ltv = await checked(`ltv ${account.name}`, () => checkLoanToValue(deps, account));
  return [key, ltv.status === "FAIL" ? { ...ltv, remedy: ltvRemedy } : ltv];
}

const ltvRemedy = "where the account has no institutional loan, do not ask for its loan-to-value";

type Tried = { readonly check: Check; readonly mode: AccountMode };

/** Asks for the account's mode, and for one bill of each product type to read. */
async function tryKey(deps: AccountDeps, account: Account, lease?: Lease): Promise<Tried> {
  const { db, exchange, signal } = deps;
  const { name, readsAll = false } = account;
  const state = (db === undefined ? noStates : await readAccountStates(db, name)).of(name);
  const tried = new Map<ProductType, ExchangeError | undefined>();
  const tryType = async (productType: ProductType): Promise<void> => {
    lease?.assertHeld();
    const { operation, query } = billsApiOf(productType);
    const refusal = await refusalOf(
      ask(exchange.client, operation, query({ limit: 1 }), { signal }),
      isOfProductType,
    );
    tried.set(productType, refusal);
  };
  const typesOf = (mode: AccountMode) =>
    account.productTypes.filter((type) => modeOf(type) === mode);
  const { mode, uid } = await askMode(
    {
      async classic() {
        for (const productType of typesOf("classic")) await tryType(productType);
      },
      async settings() {
        return (await ask(exchange.client, accountSettings, {}, { signal })).data;
      },
    },
    name,
    typesOf("classic").length === 0 ? "unified" : state.mode?.is,
  );
  const productTypes = typesOf(mode);
  for (const productType of productTypes) if (!tried.has(productType)) await tryType(productType);
  if (productTypes.length === 0) refuseNothing(account, mode);
  const read = productTypes.filter((type) => tried.get(type) === undefined);
  const refused = new Map([...tried].flatMap(([type, error]) => (error ? [[type, error]] : [])));
  const rights = await rightsOf(exchange.client, signal);
  const user = { configured: account.uid, told: uid ?? rights?.userId ?? undefined };
  const check = keyCheck(name, { mode, readsAll, read, refused, rights, uid: user });
  return { check, mode };
}

/**
 * What the exchange says about the key; undefined if it does not answer that. The classic API has
 * no such request. Whether the unified API answers it for a classic account's key is not known, so
 * it is tried.
 */
async function rightsOf(
  client: Client,
  signal: AbortSignal,
): Promise<(KeyRights & { readonly userId: string | null }) | undefined> {
  const asked = ask(client, accountInfo, {}, { signal });
  const isOfKey = (kind: ExchangeErrorKind) => kind === "refused-credentials" || kind === "banned";
  const refusal = await refusalOf(asked, (kind) => !isOfKey(kind));
  return refusal === undefined ? (await asked).data : undefined;
}

/**
 * The refusal of a request, if it is of an expected kind; undefined if the request succeeds. Throws
 * other errors.
 */
async function refusalOf(
  asked: Promise<unknown>,
  isExpected: (kind: ExchangeErrorKind) => boolean,
): Promise<ExchangeError | undefined> {
  try {
    await asked;
    return undefined;
  } catch (error) {
    if (error instanceof ExchangeError && isExpected(error.kind)) return error;
    throw error;
  }
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
  for (const query of queries) await askLoanToValue(exchange.client, query, signal);
  const units = riskUnitIds.length === 0 ? "its own" : `risk unit ${riskUnitIds.join(", ")}`;
  return ok(`ltv ${name}`, `its key reads the loan-to-value record of ${units}`);
}

/** Asks the API that serves the account: classic first, then unified. */
async function askLoanToValue(client: Client, query: Query, signal: AbortSignal): Promise<void> {
  const asked = ask(client, loanToValue, query, { signal });
  const refusal = await refusalOf(asked, (kind) => kind === "other-mode");
  if (refusal !== undefined) await ask(client, unifiedLoanToValue, query, { signal });
}

/** Asks once: `doctor` reports an exchange that is away or a ban, and does not wait for its end. */
const ask = <Op extends Operation>(
  client: Client,
  operation: Op,
  query: Query,
  options: AskOptions,
) =>
  client.ask(operation, query, {
    ...options,
    onAttempt(failure) {
      if (failure?.kind === "unavailable" || failure?.kind === "banned") throw failure;
    },
  });
