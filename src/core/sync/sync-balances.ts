import { ExchangeError } from "../../lib/errors.ts";
import { dayMs, type EpochMs } from "../../lib/time.ts";
import {
  unifiedProductTypes,
  unifiedWallet,
  type Wallet,
  walletOf,
} from "../contract/product-types.ts";
import { balancesQuestion } from "../contract/wallet-balances.ts";
import { recordRefused } from "../store/accounts/account-states.ts";
import { type BalancesCommit, commitBalances } from "../store/wallet-balances.ts";
import type { AccountState } from "../words/account-state.ts";
import type { Ledger } from "../words/ledger.ts";
import { isOfProductType } from "./failure-scope.ts";
import type { AccountDeps } from "./ledger-run.ts";

/** What the exchange told of a wallet, or how it refused. */
type ToldBalances = BalancesCommit | { readonly wallet: Wallet; readonly error: ExchangeError };

/**
 * Asks what each wallet holds, by one request a wallet. It is asked before the newest bills are, so that these have all up to
 * then. A wallet that is refused is asked about again after a day.
 */
export async function askBalances(
  deps: Pick<AccountDeps, "client" | "signal" | "leased" | "exchangeNow">,
  { balancesRefusedAt = new Map() }: Pick<AccountState, "balancesRefusedAt">,
  ledgers: readonly { readonly ledger: Ledger }[],
): Promise<readonly ToldBalances[]> {
  const told: ToldBalances[] = [];
  for (const wallet of walletsOf(ledgers)) {
    const refusedAt = balancesRefusedAt.get(wallet);
    if (refusedAt !== undefined && deps.exchangeNow() - refusedAt < dayMs) continue;
    try {
      told.push(await askWallet(deps, wallet));
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error;
      told.push({ wallet, error });
      // Another failure is of all wallets.
      if (!isOfProductType(error.kind)) break;
    }
  }
  return told;
}

/**
 * Stores what wallets held whose bills were read. The check compares it with the bills as soon as their time is settled. Fails
 * no run: failures are told.
 * @param ledgers those that were read without an error.
 */
export async function recordBalances(
  { leased, exchangeNow, onFailure }: Pick<AccountDeps, "leased" | "exchangeNow" | "onFailure">,
  { balancesRefusedAt = new Map() }: Pick<AccountState, "balancesRefusedAt">,
  balances: readonly ToldBalances[],
  ledgers: readonly { readonly ledger: Ledger }[],
): Promise<void> {
  const wallets = walletsOf(ledgers);
  const answered: BalancesCommit[] = [];
  const refusedAt = new Map<Wallet, EpochMs | undefined>();
  for (const told of balances.filter(({ wallet }) => wallets.includes(wallet))) {
    const { wallet } = told;
    if (!("error" in told)) {
      answered.push(told);
      if (balancesRefusedAt.has(wallet)) refusedAt.set(wallet, undefined);
      continue;
    }
    const { error } = told;
    const what = `balances of ${wallet} are not compared: ${error.message}`;
    onFailure(new ExchangeError(error.kind, what, { cause: error }));
    if (isOfProductType(error.kind)) refusedAt.set(wallet, exchangeNow());
  }
  if (answered.length + refusedAt.size === 0) return;
  const { account, write } = leased.store;
  await write(async (tx) => {
    await commitBalances(tx, account, answered);
    for (const [wallet, at] of refusedAt) {
      const ledger = { account, productType: wallet === unifiedWallet ? "" : wallet };
      await recordRefused(tx, ledger, "balances_refused_at", at);
    }
  });
}

/** The wallets of which all ledgers are among these. */
function walletsOf(ledgers: readonly { readonly ledger: Ledger }[]): readonly Wallet[] {
  const wallets = Map.groupBy(ledgers, ({ ledger }) => walletOf(ledger.productType));
  // The categories of a unified account share its balances: who lacks one knows none.
  return [...wallets].flatMap(([wallet, { length }]) =>
    wallet === unifiedWallet && length < unifiedProductTypes.length ? [] : [wallet],
  );
}

async function askWallet(
  { client, leased, signal }: Pick<AccountDeps, "client" | "leased" | "signal">,
  wallet: Wallet,
): Promise<BalancesCommit> {
  const { operation, query } = balancesQuestion(wallet);
  const { data, requestTime } = await client.ask(operation, query, {
    signal,
    beforeSend: leased.assertHeld,
  });
  return { wallet, readAt: requestTime, balances: data };
}
