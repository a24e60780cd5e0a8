import { type Account, withCredentials } from "../accounts/account.ts";
import type { Config } from "../accounts/config.ts";
import {
  type Difference,
  type LedgerVerification,
  type LedgerVerify,
  ledgerVerifiers,
  type VerifyDeps,
} from "../check/verify/verify.ts";
import type { ProductType } from "../core/contract/product-types.ts";
import { type ExchangeAccess, openExchange } from "../core/exchange/session.ts";
import type { Database } from "../core/postgres/connect.ts";
import { readAccountState } from "../core/store/accounts/account-states.ts";
import type { Leases } from "../core/store/lease.ts";
import { openVerifyStore } from "../core/store/verify-store.ts";
import { assertSomethingToRead, identifyAccount } from "../core/sync/account-mode.ts";
import { type AccountMode, modeOf } from "../core/words/account-state.ts";
import type { Interval } from "../core/words/intervals.ts";
import { firstThrown, messageOf } from "../lib/errors.ts";
import { printableLine } from "../lib/printable.ts";
import { formatCounted, ledgerName, ledgerNames } from "../output/text.ts";
import { openAccount } from "./open-account.ts";
import { noticeFailure } from "./sync-reporter.ts";

/** What reading accounts again needs of a process. */
export type CompareDeps = {
  readonly signal: AbortSignal;
  readonly notice: (message: string) => void;
  readonly db: Database;
  readonly config: Pick<Config, "baseUrl">;
  readonly access: ExchangeAccess;
  readonly leases: Leases;
};

type Comparing = {
  /** Whether it writes what differs. */
  readonly repair: boolean;
  /** The time of a ledger that is read again. */
  readonly spanOf: (productType: ProductType) => Interval;
  readonly read: (
    deps: VerifyDeps,
    ledgers: readonly LedgerVerify[],
  ) => Promise<readonly LedgerVerification[]>;
};

/**
 * Holds an account, asks whose key it is, and reads ledgers of it again. Never throws: the report contains the error that
 * stopped it.
 */
export async function compareAccount(
  deps: CompareDeps,
  configured: Account,
  { repair, spanOf, read }: Comparing,
): Promise<AccountVerification> {
  const { config, signal, notice, db, access } = deps;
  const { name } = configured;
  let ledgers: readonly LedgerVerification[] = [];
  try {
    const account = withCredentials(configured);
    const exchange = openExchange(config, account, access);
    await using opened = await openAccount({ ...deps, onWait: notice }, account, exchange);
    const { client, exchangeNow } = exchange;
    const { assertHeld } = opened;
    const asking = { client, assertHeld, signal, onFailure: noticeFailure(notice, name) };
    const comparing: VerifyDeps = {
      ...asking,
      ...{ exchangeNow, repair, sleep: access.clock.sleep },
      store: openVerifyStore(db, opened),
      onProgress(progress) {
        if (progress.event === "request" && progress.failure !== undefined)
          noticeFailure(notice, ledgerName(progress.ledger))(progress.failure);
      },
    };
    const state = await readAccountState(db, name);
    const ledgerOf = ledgerVerifiers(comparing, name, spanOf);
    const meeting = await identifyAccount(asking, account, state, ledgerOf);
    if (meeting.ledgers.length === 0) assertSomethingToRead(account, meeting.mode);
    const unserved = notCompared(state.stored, account, meeting.mode);
    if (unserved !== undefined) notice(unserved);
    // A product type that was refused to the key before is no failure where none is named.
    const refused = account.readsAll ? state.notAvailable : [];
    const wanted = meeting.ledgers.filter(({ ledger }) =>
      refused.every(({ productType }) => productType !== ledger.productType),
    );
    const answer = { ...meeting, productTypes: wanted.map(({ ledger }) => ledger.productType) };
    await (repair ? opened.acceptKey(answer) : opened.checkKey(answer));
    ledgers = await read(comparing, wanted);
    return { account: name, ledgers, error: undefined };
  } catch (error) {
    return { account: name, ledgers, error: firstThrown(error) };
  }
}

/** A notice on what is stored of the account's other mode, which the exchange no longer serves. */
function notCompared(
  stored: readonly ProductType[],
  { name, productTypes }: Account,
  mode: AccountMode,
): string | undefined {
  const unserved = stored.filter((type) => productTypes.includes(type) && modeOf(type) !== mode);
  if (unserved.length === 0) return undefined;
  return (
    `${printableLine(name)}: not compared: ${unserved.join(", ")}: the account is ${mode} now, and ` +
    "the exchange serves their bills only after it is switched back"
  );
}

export type AccountVerification = {
  readonly account: string;
  readonly ledgers: readonly LedgerVerification[];
  /** The error that ended the whole account. */
  readonly error: unknown;
};

/** What was read again of several accounts. */
export type Reports = { readonly accounts: readonly AccountVerification[] };

export const ledgersOf = ({ accounts }: Reports): readonly LedgerVerification[] =>
  accounts.flatMap(({ ledgers }) => ledgers);

export const differencesOf = (verification: Reports): readonly Difference[] =>
  ledgersOf(verification).flatMap(({ differences }) => differences);

export const isAccepted = (difference: Difference): boolean =>
  difference.kind === "rejected" && difference.isAccepted;

/** What a repair leaves: it deletes nothing, and no row that breaks the contract can be stored. */
export const leftLines = (verification: Reports): readonly string[] =>
  (["unserved", "rejected"] as const).flatMap((kind) => {
    const bills = differencesOf(verification).filter(
      (difference) => difference.kind === kind && !isAccepted(difference),
    );
    const ids = bills.slice(0, 3).map(({ billId }) => billId ?? "without an id");
    const names = `${ids.join(", ")}${bills.length > ids.length ? ", …" : ""}`;
    if (bills.length === 0) return [];
    return kind === "unserved"
      ? `${formatCounted(bills.length, "stored bill")} (${names}) not served by the exchange, and not deleted`
      : `${formatCounted(bills.length, "served row")} (${names}) cannot be read`;
  });

/** What could not be read, and why. */
export const remarksOf = ({ accounts }: Reports): readonly string[] =>
  accounts.flatMap(({ account, error, ledgers }) => [
    ...(error === undefined ? [] : [`${account}: ${messageOf(error)}`]),
    ...unreadLines(ledgers),
  ]);

/** Each error once, with all product types that were not read to their end. */
function unreadLines(ledgers: readonly LedgerVerification[]): readonly string[] {
  const unread = ledgers.filter(({ error }) => error !== undefined);
  return [...Map.groupBy(unread, ({ error }) => messageOf(error))].map(
    ([message, alike]) =>
      `${ledgerNames(alike.map(({ ledger }) => ledger))}: not read to its end: ${message}`,
  );
}
