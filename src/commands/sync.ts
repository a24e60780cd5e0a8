import { type CommandDatabase, openCommandDatabase } from "../db/open.ts";
import type { Result } from "../output/result.ts";
import type { Config } from "../roster/config.ts";
import type { Io } from "./io.ts";
import { type Define, narrowedConfig, reporting, type Which } from "./options.ts";
import { planCommand } from "./sync-plan.ts";
import { openReporter } from "./sync-reporter.ts";
import type { SyncResult } from "./sync-result.ts";
import { openSyncSession, type RunDeps } from "./sync-run.ts";
import { resultOf } from "./sync-summary.ts";
import {
  allTargets,
  contractTypesOf,
  forTargets,
  needsCredentials,
  targetsOf,
} from "./sync-targets.ts";

/**
 * `sync`: brings symbols, contracts, and every account's loan-to-value and bills up to date. An
 * error of one account or list does not make it throw.
 */
export async function syncCommand(
  config: Config,
  io: Io,
  options: Partial<Omit<RunDeps, "reporter" | "signal">> = {},
): Promise<Result> {
  using reporter = openReporter(config.logLevel, io);
  await using database = await openCommandDatabase(config.database, reporter.notice);
  const result = await runSync(config, {
    ...{ targets: allTargets, newKey: false, reconcile: true, signal: io.signal },
    ...{ contractTypes: contractTypesOf(config), ...options, database, reporter },
  });
  return resultOf(result);
}

/** A whole sync. */
export async function runSync(
  config: Config,
  deps: RunDeps & { readonly database: CommandDatabase },
): Promise<SyncResult> {
  const { database, reporter, signal } = deps;
  for (const warning of config.warnings) reporter.warn(warning);
  const sayStopping = () =>
    reporter.notice(
      "stopping after the pages in hand; a second signal stops at once, which is safe, too",
    );
  signal.addEventListener("abort", sayStopping);
  try {
    await using session = await openSyncSession({ database, notice: reporter.notice });
    return await session.run(config, deps);
  } finally {
    signal.removeEventListener("abort", sayStopping);
  }
}

const help = `
The summary counts, for each product type, new bills, restated ones (served with
other content; bill_revisions keeps what it replaced) and rejected rows (kept as
served), and says up to when it is complete. Symbols and contracts need no key.

A new API key of an account must be of the same user of the exchange. If it is
not, or the exchange does not tell, nothing is written. --new-key takes it, and
reads again what can be read.`;

type SyncWords = Which & {
  readonly only?: readonly string[];
  readonly newKey: boolean;
  readonly dryRun: boolean;
  readonly reconcile: boolean;
};

export const define: Define = (command, { io, config: configOf, runs }) => {
  const sync = async ({ only, newKey, dryRun, reconcile, ...which }: SyncWords) => {
    const targets = targetsOf(only);
    const hasSecrets = !dryRun && needsCredentials(targets);
    const whole = narrowedConfig({ config: configOf }, hasSecrets, which);
    const config = forTargets(whole, targets);
    const shared = { targets, contractTypes: contractTypesOf(whole) };
    return dryRun
      ? planCommand(config, io, shared)
      : syncCommand(config, io, { ...shared, newKey, reconcile });
  };
  reporting(command)
    .option("--only <target...>", "only these targets: bills, ltv, symbols, contracts")
    .option("--new-key", "take unknown API keys, and read again what they can read", false)
    .option("--no-reconcile", "leave out the check of what changed, with which it ends")
    .option("--dry-run", "show what it would fetch; asks the exchange only for its time", false)
    .addHelpText("after", help)
    .action(runs(sync));
};
