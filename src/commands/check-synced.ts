import type { Account } from "../accounts/account.ts";
import { type Break, type BrokenSpan, isFault, readBreaks } from "../check/reconcile/breaks.ts";
import { reconcileAndHeal, type UnsettledBalance } from "../check/reconcile/reconcile.ts";
import { type LedgerVerification, repairedIn } from "../check/verify/verify.ts";
import { analyzeGrown } from "../core/store/analyze.ts";
import { type CompareDeps, remarksOf } from "./compare-account.ts";
import { healAccount } from "./heal.ts";
import { loggedRun } from "./logged-run.ts";
import type { Reporter } from "./sync-reporter.ts";
import type { AccountsChecked } from "./sync-result.ts";

type CheckDeps = Omit<CompareDeps, "notice"> & { readonly reporter: Reporter };

/**
 * Checks what changed in these accounts, one after the other, as `reconcile --repair` does: what does not add up is read
 * again, once.
 */
export async function checkSynced(
  deps: CheckDeps,
  accounts: readonly Account[],
): Promise<AccountsChecked | { readonly error: unknown }> {
  const { db, signal, reporter } = deps;
  const opened: Break[] = [];
  const healed: LedgerVerification[] = [];
  const unsettled: UnsettledBalance[] = [];
  const counts = { isFull: false, chains: 0, breaks: 0, healed: 0 };
  let isIncomplete = false;
  const heal = async (account: Account, spans: readonly BrokenSpan[]) => {
    const { notice } = reporter;
    const verification = await healAccount({ ...deps, notice }, account, spans);
    for (const line of remarksOf({ accounts: [verification] })) notice(`not read again: ${line}`);
    const stored = verification.ledgers.filter((ledger) => repairedIn([ledger]) > 0);
    healed.push(...stored);
    counts.healed += repairedIn(stored);
    return stored.length > 0;
  };
  try {
    await loggedRun({ db, notice: reporter.warn }, "reconcile", async () => {
      reporter.step("checked", { planned: accounts.length });
      await analyzeGrown(db);
      for (const account of accounts) {
        signal.throwIfAborted();
        const among = { accounts: [account.name], productTypes: undefined };
        const before = await readBreaks(db, among);
        const idsBefore = new Set(before.map(({ breakId }) => breakId));
        const checking = { isFull: false, skipsFailed: true };
        const healing = (spans: readonly BrokenSpan[]) => heal(account, spans);
        const checked = await reconcileAndHeal(db, among, checking, healing);
        const { breaks, chains } = checked;
        unsettled.push(...checked.unsettled);
        opened.push(...breaks.filter(({ breakId }) => !idsBefore.has(breakId)));
        isIncomplete ||= breaks.some(isFault);
        counts.breaks += breaks.length;
        counts.chains += chains.length;
        reporter.step("checked", { done: 1 });
      }
      return { counts, errors: [], isIncomplete, didWork: true };
    });
    return { open: counts.breaks, opened, healed, unsettled };
  } catch (error) {
    return { error };
  }
}
