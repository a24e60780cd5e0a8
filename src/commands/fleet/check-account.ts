import { exitOf } from "../../app/exit-code.ts";
import { loggedRun } from "../../app/logged-run.ts";
import type { Database } from "../../db/connect.ts";
import type { JobEnd } from "../../fleet/task.ts";
import { reconcileAccount } from "../../reconciliation/reconcile.ts";

/**
 * Checks what changed in one account, as `reconcile` does. A break is no failure: `status` reports
 * it.
 * @throws if the database fails.
 */
export async function checkAccount(
  db: Database,
  account: string,
  signal: AbortSignal,
): Promise<JobEnd> {
  const check = async () => {
    const { isWhole, chains, breaks } = await reconcileAccount(
      db,
      { account, productTypes: undefined },
      { isFull: false },
    );
    const counts = { isWhole, chains: chains.length, breaks: breaks.length };
    const isOpen = breaks.length > 0;
    return { ...exitOf({ errors: [], isOpen, isAnythingDone: true }), counts, errors: [] };
  };
  await loggedRun(db, "reconcile", check, signal);
  return { is: "done" };
}
