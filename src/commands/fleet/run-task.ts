import { contractTypesOf, type Targets } from "../../app/targets.ts";
import type { Config } from "../../config/config.ts";
import type { Database } from "../../db/connect.ts";
import type { JobEnd, Task } from "../../fleet/task.ts";
import type { Reporter } from "../sync/reporter.ts";
import type { SyncSession } from "../sync/sync.ts";
import type { SyncResult } from "../sync/sync-result.ts";
import { checkAccount } from "./check-account.ts";
import { jobEndOf, jobEndOfThrown } from "./job-end.ts";

/** Reads the configuration at each call, so that added accounts are found. */
export type ReadConfigs = {
  /** All accounts, without credentials. */
  readonly all: () => Config;
  /** @throws UsageError if the account is not configured, or lacks a credential. */
  readonly of: (account: string) => Config;
};

export type TaskDeps = {
  readonly session: SyncSession;
  /** Allows statements as long as a check of millions of bills takes. */
  readonly checksDb: Database;
  readonly configs: ReadConfigs;
  readonly reporter: Reporter;
  readonly signal: AbortSignal;
};

const ofAccounts: Targets = new Set(["bills", "ltv"]);
const ofLists: Targets = new Set(["symbols", "contracts"]);

/** Does one task as the command `sync` or `reconcile` would. Never throws. */
export async function runTask(
  { session, checksDb, configs, reporter, signal }: TaskDeps,
  task: Task,
): Promise<JobEnd> {
  try {
    if ("reconcile" in task) return await checkAccount(checksDb, task.reconcile, signal);
    const isAccount = "account" in task;
    const targets = isAccount ? ofAccounts : ofLists;
    const whole = isAccount ? configs.of(task.account) : configs.all();
    const config = isAccount ? whole : { ...whole, accounts: [] };
    const contractTypes = contractTypesOf(whole);
    let result: SyncResult | undefined;
    const onResult = (given: SyncResult) => {
      result = given;
    };
    const deps = { reporter, signal, targets, newKey: false, contractTypes, onResult };
    await session.run(config, deps);
    return result === undefined ? { is: "done" } : jobEndOf(result);
  } catch (error) {
    return jobEndOfThrown(error);
  }
}
