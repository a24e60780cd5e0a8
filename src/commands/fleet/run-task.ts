import {
  AccountHeldError,
  ExchangeError,
  firstThrown,
  StoppedError,
  UsageError,
} from "../../errors.ts";
import type { JobEnd, Task } from "../../fleet/tasks.ts";
import type { Config } from "../../roster/config.ts";
import { errorText } from "../exit-code.ts";
import type { Reporter } from "../sync/reporter.ts";
import type { SyncSession } from "../sync/sync.ts";
import { errorsOf, type SyncResult } from "../sync/sync-result.ts";
import { contractTypesOf, type Targets } from "../sync/targets.ts";

/** Reads the configuration at each call, so that added accounts are found. */
export type ReadConfigs = {
  /** All accounts, without credentials. */
  readonly all: () => Config;
  /** @throws UsageError if the account is not configured, or lacks a credential. */
  readonly of: (account: string) => Config;
};

export type TaskDeps = {
  readonly session: SyncSession;
  readonly configs: ReadConfigs;
  readonly reporter: Reporter;
  readonly signal: AbortSignal;
};

const ofAccounts: Targets = new Set(["bills", "ltv"]);
const ofLists: Targets = new Set(["symbols", "contracts"]);

/** Does one task as the command `sync` would. Never throws. */
export async function runTask(
  { session, configs, reporter, signal }: TaskDeps,
  task: Task,
): Promise<JobEnd> {
  try {
    const isAccount = "account" in task;
    const targets = isAccount ? ofAccounts : ofLists;
    const whole = isAccount ? configs.of(task.account) : configs.all();
    const config = isAccount ? whole : { ...whole, accounts: [] };
    const contractTypes = contractTypesOf(whole);
    let result: SyncResult | undefined;
    const onResult = (given: SyncResult) => {
      result = given;
    };
    const deps = {
      reporter,
      signal,
      targets,
      newKey: false,
      reconcile: true,
      contractTypes,
      onResult,
    };
    await session.run(config, deps);
    return result === undefined ? { is: "done" } : jobEndOf(result);
  } catch (error) {
    return jobEndOfThrown(error);
  }
}

/**
 * How a sync's job ends. Two cases without success count as done: an account that another run
 * holds, since that run syncs it, and a run without errors that left something open, which `status`
 * reports.
 */
export const jobEndOf = (result: SyncResult): JobEnd => jobEndOfErrors(errorsOf(result));

export const jobEndOfThrown = (error: unknown): JobEnd => jobEndOfErrors([error]);

function jobEndOfErrors(thrown: readonly unknown[]): JobEnd {
  const errors = thrown.map(firstThrown).filter((error) => !(error instanceof AccountHeldError));
  if (errors.some((error) => error instanceof StoppedError)) return { is: "given back" };
  const why = errorText(errors);
  if (why === null) return { is: "done" };
  return { is: errors.every(isHopeless) ? "hopeless" : "failed", why };
}

/** A refused request is refused again, and a wrong configuration stays wrong. */
function isHopeless(error: unknown): boolean {
  if (error instanceof UsageError) return true;
  if (!(error instanceof ExchangeError)) return false;
  const kinds = ["refused-credentials", "refused-permission", "refused-request"];
  return kinds.includes(error.kind);
}
