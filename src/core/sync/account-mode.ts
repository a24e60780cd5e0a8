import { AccountInTransitError, ExchangeError, ReportableError } from "../../lib/errors.ts";
import { printableLine } from "../../lib/printable.ts";
import type { EpochMs } from "../../lib/time.ts";
import { type KeyInfo, keyInfo } from "../contract/key-info.ts";
import type { Operation } from "../contract/operation.ts";
import type { ProductType } from "../contract/product-types.ts";
import { accountSettings } from "../contract/unified-account.ts";
import { endLedgersOfOtherMode, readAccountState } from "../store/accounts/account-states.ts";
import type { LeasedAccount } from "../store/ledger-store.ts";
import {
  type AccountMode,
  type AccountState,
  modeOf,
  type Wanted,
} from "../words/account-state.ts";
import type { KnownTime, Ledger } from "../words/ledger.ts";
import { planLedger, type ReadTime, readTime } from "../words/plan.ts";
import { failureScope, isOfProductType } from "./failure-scope.ts";
import { type LedgerReader, probeAccount } from "./ledger-reader.ts";
import type { AccountDeps } from "./ledger-run.ts";

/** The requests that tell an account's mode. Each throws as the client does. */
type ModeQuestions = {
  /** Asks the classic API for anything. Only whether it serves the account matters. */
  readonly classic: () => Promise<void>;
  readonly settings: () => Promise<{ readonly accountMode: string }>;
};

const unifiedWords: readonly string[] = ["unified", "hybrid"];

/**
 * Finds out which API serves an account. Each API refuses an account of the other mode with codes of its own.
 * No other refusal tells anything about the mode.
 *
 * @param last the mode that the last run found. Its API is asked first.
 * @throws AccountInTransitError where the account is between the two modes, or in an unknown one.
 * @throws ExchangeError where an API refuses for another reason.
 */
async function askMode(
  ask: ModeQuestions,
  account: string,
  last: AccountMode | undefined,
): Promise<AccountMode> {
  const order =
    last === "unified" ? (["unified", "classic"] as const) : (["classic", "unified"] as const);
  for (const mode of order) {
    const answer = await askApi(ask, account, mode);
    if (answer !== undefined) return answer;
  }
  throw new AccountInTransitError(
    account,
    "each of the exchange's two APIs says that the other serves it",
  );
}

/** Asks one API. Undefined where the other one serves the account. */
async function askApi(
  ask: ModeQuestions,
  account: string,
  mode: AccountMode,
): Promise<AccountMode | undefined> {
  try {
    if (mode === "classic") {
      await ask.classic();
      return mode;
    }
    const { accountMode } = await ask.settings();
    if (unifiedWords.includes(accountMode)) return mode;
    throw new AccountInTransitError(
      account,
      `the exchange calls its mode "${printableLine(accountMode)}"`,
    );
  } catch (error) {
    if (error instanceof ExchangeError && error.kind === "other-mode") return undefined;
    throw error;
  }
}

/** What the exchange told of an account and its key, and the ledgers that are asked for in its mode. */
type AccountIdentity<Ledger> = {
  readonly mode: AccountMode;
  readonly info: KeyInfo | ExchangeError;
  readonly ledgers: readonly Ledger[];
};

/**
 * Finds out an account's mode, and which of its product types are asked for in it. The first signed answer
 * sets the exchange's clock.
 *
 * @param account the account. If it names no product types, only its mode is asked for.
 * @param state what earlier runs have learned about the account.
 * @param ledgerOf makes the ledger of a product type. The readers of some of them are used to ask for the mode.
 * @throws as {@link askMode} does.
 */
export async function identifyAccount<Ledger extends LedgerReader>(
  deps: Pick<AccountDeps, "client" | "signal" | "onFailure"> & Pick<LeasedAccount, "assertHeld">,
  account: Wanted & { readonly name: string },
  state: AccountState,
  ledgerOf: (productType: ProductType) => Ledger,
): Promise<AccountIdentity<Ledger>> {
  const last = state.mode?.name;
  const ledgersOf = (mode: AccountMode) =>
    account.productTypes.filter((productType) => modeOf(productType) === mode).map(ledgerOf);
  const classic = ledgersOf("classic");
  const asking = <Op extends Operation>(operation: Op) => {
    const { client, signal, assertHeld, onFailure } = deps;
    const onAttempt = (failure: ExchangeError | undefined) => {
      if (failure !== undefined && !isAnswer(failure)) onFailure(failure);
    };
    return client.ask(operation, {}, { signal, beforeSend: assertHeld, onAttempt });
  };
  const ask = {
    classic: () => probeAccount(classic),
    settings: async () => (await asking(accountSettings)).data,
  };
  // Without product types, the settings alone tell the mode: a classic account is refused them.
  const mode =
    account.productTypes.length === 0
      ? ((await askApi(ask, account.name, "unified")) ?? "classic")
      : await askMode(ask, account.name, classic.length === 0 ? "unified" : last);
  const info = await askKeyInfo(async () => (await asking(keyInfo[mode])).data);
  return { mode, info, ledgers: mode === "classic" ? classic : ledgersOf(mode) };
}

/** A refusal of what was asked is an answer: the key lacks a right, or the account is in the other mode. */
const isAnswer = ({ kind }: ExchangeError): boolean =>
  kind === "other-mode" || isOfProductType(kind);

/**
 * Asks whose key it is and what it may do.
 * @returns the error where the exchange does not tell.
 * @throws ExchangeError where it refuses the key as such.
 */
async function askKeyInfo(ask: () => Promise<KeyInfo>): Promise<KeyInfo | ExchangeError> {
  try {
    return await ask();
  } catch (error) {
    const isOfKey = failureScope(error) === "account";
    if (error instanceof ExchangeError && (!isOfKey || error.kind === "other-mode")) return error;
    throw error;
  }
}

/** @throws ReportableError where product types were named and the account's mode has none of them. */
export function assertSomethingToRead(
  account: Wanted & { readonly name: string },
  mode: AccountMode,
): void {
  const refusal = nothingToRead(account, mode);
  if (refusal !== undefined) throw new ReportableError(refusal);
}

/** The reason why nothing of an account is read: its mode has none of the named product types. */
export function nothingToRead(
  { name, productTypes, readsAll = false }: Wanted & { readonly name: string },
  mode: AccountMode,
): string | undefined {
  const hasSome = productTypes.some((productType) => modeOf(productType) === mode);
  if (productTypes.length === 0 || readsAll || hasSome) return undefined;
  const remedy =
    mode === "unified"
      ? "name those that begin with UTA-"
      : "name those that do not begin with UTA-";
  return (
    `account ${name} is ${mode} and has no ${productTypes.join(", ")}: nothing of it is read; ` +
    `${remedy}, or leave PRODUCT_TYPES and productTypes out`
  );
}

/** A ledger that ended because its account changed its mode, and how far it was read. */
export type EndedLedger = ReadTime & { readonly ledger: Ledger; readonly endedAt: EpochMs };

/**
 * Records an account's mode if it changed. Ledgers of the other mode end, and ledgers of this mode
 * are opened again.
 * @returns the ledgers that this call ended.
 */
export async function recordMode(
  { leased, exchangeNow, settleLagMs }: Pick<AccountDeps, "leased" | "exchangeNow" | "settleLagMs">,
  account: Wanted & { readonly name: string },
  state: AccountState,
  { mode, ledgers }: AccountIdentity<LedgerReader>,
): Promise<readonly EndedLedger[]> {
  const { name } = account;
  const isKnown =
    state.mode?.name === mode &&
    state.ended.every(({ productType }) => modeOf(productType) !== mode);
  // The mode is not known if the classic API refused everything that it was asked for.
  const isTold = mode === "unified" || ledgers.some(({ hasAnswered }) => hasAnswered);
  if (isKnown || !isTold) return [];
  const { store } = leased;
  const ledgerOf = (productType: ProductType) => ({ account: name, productType });
  const left = leftUnplanned(account, state, mode).map(ledgerOf);
  const before = await store.knownTimes(left);
  const unplanned = left.filter((ledger) => isUnplanned(before.of(ledger)));
  const now = exchangeNow();
  await store.recordPlans(
    unplanned.map((ledger) => planLedger(ledger, before.of(ledger), { now, settleLagMs })),
  );
  await store.write((tx) => endLedgersOfOtherMode(tx, name, mode, exchangeNow()));
  const { ended } = await store.read((from) => readAccountState(from, name));
  const isNew = ({ productType }: { readonly productType: ProductType }) =>
    state.ended.every((one) => one.productType !== productType);
  const known = await store.knownTimes(ended.map(({ productType }) => ledgerOf(productType)));
  return ended.filter(isNew).map(({ productType, endedAt }) => {
    const ledger = ledgerOf(productType);
    return { ledger, endedAt, ...readTime(known.of(ledger), endedAt) };
  });
}

/**
 * The product types that were to be read in the previous mode. An interrupted first sync may have planned
 * only some of them. The others are planned before they end, so that their unread time is known.
 */
const leftUnplanned = (
  { productTypes }: Wanted,
  { mode: last, notAvailable }: AccountState,
  mode: AccountMode,
): readonly ProductType[] =>
  last === undefined || last.name === mode
    ? []
    : productTypes.filter(
        (productType) =>
          modeOf(productType) === last.name &&
          notAvailable.every((refused) => refused.productType !== productType),
      );

const isUnplanned = ({ coverage, lost, open }: KnownTime): boolean =>
  coverage.length + lost.length + open.length === 0;
