import { ExchangeError } from "../../lib/errors.ts";
import { dayMs } from "../../lib/time.ts";
import {
  isSpotOrFunding,
  isUnified,
  unifiedProductTypes,
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
 * it with the bills as soon as their time is settled. What is refused is asked again after a day. Fails no run: failures are told.
 *
 * @param ledgers those that were read without an error.
 */
export async function syncBalances(
  deps: BalancesDeps,
  { balancesRefusedAt }: Pick<AccountState, "balancesRefusedAt">,
  ledgers: readonly LedgerReport[],
): Promise<void> {
  const { exchangeNow, held, onFailure } = deps;
  if (balancesRefusedAt !== undefined && exchangeNow() - balancesRefusedAt < dayMs) return;
  const wallets = Map.groupBy(ledgers, ({ ledger }) => walletOf(ledger.productType));
  try {
    for (const [wallet, ofWallet] of wallets) await syncWallet(deps, wallet, ofWallet);
    if (balancesRefusedAt !== undefined) await held.store.recordBalancesRefused(undefined);
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    const what = `balances are not compared: ${error.message}`;
    onFailure(new ExchangeError(error.kind, what, { cause: error }));
    if (isOfProductType(error.kind)) await held.store.recordBalancesRefused(exchangeNow());
  }
}

async function syncWallet(
  { client, held, signal }: BalancesDeps,
  wallet: string,
  ledgers: readonly LedgerReport[],
): Promise<void> {
  const productType = ledgers[0]?.ledger.productType;
  if (productType === undefined) return;
  // The categories of a unified account share its balances: who lacks one knows none.
  if (isUnified(productType) && ledgers.length < unifiedProductTypes.length) return;
  // No operation is known that tells what spot and funding wallets hold.
  if (isSpotOrFunding(productType)) return;
  const { operation, query } = balancesQuestion(isUnified(productType) ? undefined : productType);
  const { data, requestTime } = await client.ask(operation, query, {
    signal,
    beforeSend: held.assertHeld,
  });
  await held.store.commitBalances({ wallet, readAt: requestTime, balances: data });
}
