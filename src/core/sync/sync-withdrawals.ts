import { ExchangeError } from "../../lib/errors.ts";
import { printableLine } from "../../lib/printable.ts";
import { dayMs, type EpochMs, epochMs } from "../../lib/time.ts";
import {
  type Withdrawal,
  withdrawalRowsMax,
  withdrawalSpanMaxMs,
  withdrawalsApis,
} from "../contract/withdrawals.ts";
import { recordRefused } from "../store/accounts/account-states.ts";
import {
  commitWithdrawals,
  readUnrecorded,
  type UnrecordedWithdrawals,
} from "../store/withdrawals.ts";
import type { AccountState } from "../words/account-state.ts";
import { isOfProductType } from "./failure-scope.ts";
import type { AccountDeps } from "./ledger-run.ts";
import { lowestId } from "./walk/answers.ts";

// A record is found by the time when it was made, and a withdrawal may wait for its review. A new bill may precede
// its record.
const beforeMs = 2 * dayMs;
// 10,000 withdrawals of 30 days.
const pagesMax = 100;

/**
 * Reads the records of withdrawals whose bills have none yet: they tell the fee and the transaction. What is refused is
 * asked again after a day. Fails no run: failures are told.
 */
export async function syncWithdrawals(
  deps: AccountDeps,
  account: string,
  { withdrawalsRefusedAt }: Pick<AccountState, "withdrawalsRefusedAt">,
): Promise<void> {
  const { exchangeNow, leased, onFailure } = deps;
  const { store } = leased;
  const now = exchangeNow();
  const refusedAt = (at: EpochMs | undefined) =>
    store.write((tx) =>
      recordRefused(tx, { account, productType: "" }, "withdrawals_refused_at", at),
    );
  if (withdrawalsRefusedAt !== undefined && now - withdrawalsRefusedAt < dayMs) return;
  try {
    const wallets = await store.read((db) => readUnrecorded(db, account, now));
    for (const wallet of wallets) await readWallet(deps, wallet);
    if (wallets.length > 0 && withdrawalsRefusedAt !== undefined) await refusedAt(undefined);
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    const what = `the fees of withdrawals of ${account} are not known: ${error.message}`;
    onFailure(new ExchangeError(error.kind, what, { cause: error }));
    if (isOfProductType(error.kind)) await refusedAt(now);
  }
}

async function readWallet(
  deps: AccountDeps,
  { wallet, from, to }: UnrecordedWithdrawals,
): Promise<void> {
  const end = Math.min(to + beforeMs, deps.exchangeNow());
  for (let start = from - beforeMs; start < end; start += withdrawalSpanMaxMs) {
    const span = {
      from: epochMs(start),
      to: epochMs(Math.min(start + withdrawalSpanMaxMs, end)),
    };
    await readSpan(deps, { wallet, ...span });
  }
}

/** Each page goes on below the lowest order of the page before. */
async function readSpan(
  { client, leased, signal, onFailure }: AccountDeps,
  { wallet, from, to }: UnrecordedWithdrawals,
): Promise<void> {
  const { operation, query, read } = withdrawalsApis[wallet];
  let below: string | undefined;
  for (let page = 0; page < pagesMax; page++) {
    const { data } = await client.ask(operation, query({ from, to, below }), {
      signal,
      beforeSend: leased.assertHeld,
    });
    const withdrawals = new Map<string, Withdrawal>();
    for (const row of data) {
      const reading = read(row);
      if ("withdrawal" in reading) withdrawals.set(reading.withdrawal.orderId, reading.withdrawal);
      else {
        const { path, reason } = reading.fault;
        const what = `a record of a withdrawal was left out: ${printableLine(`${path} ${reason}`)}`;
        onFailure(new ExchangeError("malformed", what));
      }
    }
    if (withdrawals.size > 0) {
      const commit = { wallet, withdrawals: [...withdrawals.values()] };
      await leased.store.write((tx) => commitWithdrawals(tx, leased.store.account, commit));
    }
    const lowest = lowestId([...withdrawals.keys()]);
    if (data.length < withdrawalRowsMax || lowest === undefined || lowest === below) return;
    below = lowest;
  }
}
