import { ExchangeError } from "../../lib/errors.ts";
import { dayMs } from "../../lib/time.ts";
import {
  unifiedProductTypes,
  unifiedWallet,
  type Wallet,
  walletOf,
} from "../contract/product-types.ts";
import { balancesQuestion } from "../contract/wallet-balances.ts";
import type { BalancesCommit } from "../store/wallet-balances.ts";
import type { AccountState } from "../words/account-state.ts";
import type { Ledger } from "../words/ledger.ts";
import { isOfProductType } from "./failure-scope.ts";
import type { BillsDeps, HeldDeps } from "./ledger-run.ts";

type BalancesDeps = HeldDeps &
  Pick<BillsDeps, "client" | "signal"> & {
    /** Called with every failed request. */
    readonly onFailure: (failure: ExchangeError) => void;
  };

/**
 * Asks what each wallet holds, by one request a wallet. It is asked before the newest bills are, so that these have all up to
 * then. A wallet that is refused is asked about again after a day. Fails no run: failures are told.
 */
export async function askBalances(
  deps: BalancesDeps,
  { balancesRefusedAt = new Map() }: Pick<AccountState, "balancesRefusedAt">,
  ledgers: readonly { readonly ledger: Ledger }[],
): Promise<readonly BalancesCommit[]> {
  const { exchangeNow, held, onFailure } = deps;
  const told: BalancesCommit[] = [];
  for (const wallet of walletsOf(ledgers)) {
    const refusedAt = balancesRefusedAt.get(wallet);
    if (refusedAt !== undefined && exchangeNow() - refusedAt < dayMs) continue;
    try {
      told.push(await askWallet(deps, wallet));
      if (refusedAt !== undefined) await held.store.recordBalancesRefused(wallet, undefined);
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error;
      const what = `balances of ${wallet} are not compared: ${error.message}`;
      onFailure(new ExchangeError(error.kind, what, { cause: error }));
      // Another failure is of all wallets.
      if (!isOfProductType(error.kind)) break;
      await held.store.recordBalancesRefused(wallet, exchangeNow());
    }
  }
  return told;
}

/**
 * Stores what wallets held whose bills were read. The check compares it with the bills as soon as their time is settled.
 * @param ledgers those that were read without an error.
 */
export async function commitBalances(
  { held }: Pick<BalancesDeps, "held">,
  balances: readonly BalancesCommit[],
  ledgers: readonly { readonly ledger: Ledger }[],
): Promise<void> {
  const read: readonly string[] = walletsOf(ledgers);
  for (const told of balances.filter(({ wallet }) => read.includes(wallet)))
    await held.store.commitBalances(told);
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
  { client, held, signal }: BalancesDeps,
  wallet: Wallet,
): Promise<BalancesCommit> {
  const { operation, query } = balancesQuestion(wallet);
  const { data, requestTime } = await client.ask(operation, query, {
    signal,
    beforeSend: held.assertHeld,
  });
  return { wallet, readAt: requestTime, balances: data };
}
