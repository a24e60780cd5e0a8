import { type Break, readBreaks } from "../audit/breaks.ts";
import { reconcileAccount } from "../audit/reconcile.ts";
import type { Database } from "../db/connect.ts";
import { analyzeGrown } from "../ledger/analyze.ts";
import { exitOf } from "./exit-code.ts";
import { loggedRun } from "./logged-run.ts";

/** What a check of what changed in some accounts found. */
export type AccountsChecked = {
  /** How many breaks are open. */
  readonly open: number;
  /** The breaks that were not open before. */
  readonly opened: readonly Break[];
};

/**
 * Checks what changed in these accounts, one after the other, as `reconcile` does.
 * @param signal ends it between two accounts.
 * @throws StoppedError; DatabaseError.
 */
export async function checkAccounts(
  db: Database,
  accounts: readonly string[],
  { signal, notice }: { readonly signal: AbortSignal; readonly notice: (message: string) => void },
): Promise<AccountsChecked> {
  const opened: Break[] = [];
  let open = 0;
  let chains = 0;
  const check = async () => {
    await analyzeGrown(db);
    for (const account of accounts) {
      signal.throwIfAborted();
      const before = await readBreaks(db, { accounts: [account], productTypes: undefined });
      const idsBefore = new Set(before.map(({ breakId }) => breakId));
      const checked = await reconcileAccount(db, account, { isFull: false });
      opened.push(...checked.breaks.filter(({ breakId }) => !idsBefore.has(breakId)));
      open += checked.breaks.length;
      chains += checked.chains.length;
    }
    const end = exitOf({ errors: [], isOpen: open > 0, isAnythingDone: true });
    return { ...end, counts: { isWhole: false, chains, breaks: open }, errors: [] };
  };
  await loggedRun({ db, notice }, "reconcile", check);
  return { open, opened };
}
