import { ExchangeError } from "../../lib/errors.ts";
import { dayMs } from "../../lib/time.ts";
import {
  unifiedProductTypes,
  unifiedWallet,
  type Wallet,
  walletOf,
} from "../contract/product-types.ts";
import { balancesQuestion } from "../contract/wallet-balances.ts";
import type { AccountState } from "../words/account-state.ts";
import { isOfProductType } from "./failure-scope.ts";
import type { BillsDeps, HeldDeps, LedgerReport } from "./ledger-run.ts";

type BalancesDeps = HeldDeps &
  Pick<BillsDeps, "client" | "signal"> & {
    /** Called with every failed request. */
    readonly onFailure: (failure: ExchangeError) => void;
  };

/**
 * Stores what the exchange says that each wallet holds, by one request a wallet, once its bills were read. The check compares
 * it with the bills as soon as their time is settled. A wallet that is refused is asked about again after a day. Fails no run:
 * failures are told.
 *
 * @param ledgers those that were read without an error.
 */
export async function syncBalances(
  deps: BalancesDeps,
  { balancesRefusedAt = new Map() }: Pick<AccountState, "balancesRefusedAt">,
  ledgers: readonly LedgerReport[],
): Promise<void> {
  const { exchangeNow, held, onFailure } = deps;
  const wallets = Map.groupBy(ledgers, ({ ledger }) => walletOf(ledger.productType));
  for (const [wallet, { length }] of wallets) {
    // The categories of a unified account share its balances: who lacks one knows none.
    if (wallet === unifiedWallet && length < unifiedProductTypes.length) continue;
    const refusedAt = balancesRefusedAt.get(wallet);
    if (refusedAt !== undefined && exchangeNow() - refusedAt < dayMs) continue;
    try {
      await syncWallet(deps, wallet);
      if (refusedAt !== undefined) await held.store.recordBalancesRefused(wallet, undefined);
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error;
      const what = `balances of ${wallet} are not compared: ${error.message}`;
      onFailure(new ExchangeError(error.kind, what, { cause: error }));
      // Another failure is of all wallets.
      if (!isOfProductType(error.kind)) return;
      await held.store.recordBalancesRefused(wallet, exchangeNow());
    }
  }
}

async function syncWallet({ client, held, signal }: BalancesDeps, wallet: Wallet): Promise<void> {
  const { operation, query } = balancesQuestion(wallet);
  const { data, requestTime } = await client.ask(operation, query, {
    signal,
    beforeSend: held.assertHeld,
  });
  await held.store.commitBalances({ wallet, readAt: requestTime, balances: data });
}
