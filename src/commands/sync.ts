import { type CommandDatabase, openCommandDatabase } from "../db/open.ts";
import { UsageError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import type { Result } from "../output/result.ts";
import type { Config } from "../roster/config.ts";
import { everyLedger, type Selection, selectedAccounts } from "../roster/roster.ts";
import type { Io } from "./io.ts";
import { askedOf, type Define, reporting, type Which } from "./options.ts";
import { planCommand } from "./sync-plan.ts";
import { openReporter } from "./sync-reporter.ts";
import type { SyncResult } from "./sync-result.ts";
import {
  forTargets,
  isOfAccounts,
  openSyncSession,
  type RunDeps,
  type Targets,
  targetNames,
} from "./sync-run.ts";
import { resultOf } from "./sync-summary.ts";

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
  const usual = { selection: everyLedger, targets: targetsOf(), newKey: false, reconcile: true };
  const { signal } = io;
  return resultOf(await runSync(config, { ...usual, ...options, signal, database, reporter }));
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

/**
 * The targets of one or several `--only`, each a comma-separated list. All targets if there is
 * none.
 * @throws UsageError for an unknown word, with the nearest known one.
 */
export function targetsOf(words: readonly string[] = []): Targets {
  const typed = words.flatMap((word) => word.split(",")).map((word) => word.trim());
  const targets = targetNames.filter((name) => typed.includes(name));
  const wrong = typed.find((word) => word !== "" && !targets.some((name) => name === word));
  if (wrong === undefined) return new Set(targets.length === 0 ? targetNames : targets);
  const meant = didYouMean(wrong, targetNames) || ` (there are ${targetNames.join(", ")})`;
  throw new UsageError(`--only "${wrong}" is not a target of a sync${meant}`);
}

/** @throws UsageError if loan-to-value is the only target and no account wants it. */
function refuseNothing(config: Config, selection: Selection, targets: Targets): void {
  if (config.addedAccount !== undefined || !targets.has("ltv")) return;
  if (forTargets(selectedAccounts(config, selection), targets).length === 0)
    throw new UsageError("--only ltv: no account asks for it; set SYNC_LTV=true");
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

export const define: Define = (command, program) => {
  const { io, runs } = program;
  const sync = async ({ only, newKey, dryRun, reconcile, ...which }: SyncWords) => {
    const targets = targetsOf(only);
    const { config, selection } = askedOf(program, !dryRun && isOfAccounts(targets), which);
    refuseNothing(config, selection, targets);
    return dryRun
      ? planCommand(config, io, { selection, targets })
      : syncCommand(config, io, { selection, targets, newKey, reconcile });
  };
  reporting(command)
    .option("--only <target...>", "only these targets: bills, ltv, symbols, contracts")
    .option("--new-key", "take unknown API keys, and read again what they can read", false)
    .option("--no-reconcile", "leave out the check of what changed, with which it ends")
    .option("--dry-run", "show what it would fetch; asks the exchange only for its time", false)
    .addHelpText("after", help)
    .action(runs(sync));
};
