import type { ContractProductType } from "../../contract/product-types.ts";
import { type Egress, holderName, shareAddress } from "../../db/lease/holders.ts";
import { Leases } from "../../db/lease/leases.ts";
import { LockWaits } from "../../db/lease/lock-waits.ts";
import { migrate } from "../../db/migrate.ts";
import { type CommandDatabase, openCommandDatabase } from "../../db/open.ts";
import type { ExchangeError } from "../../errors.ts";
import { openExchangeAccess } from "../../exchange/session.ts";
import { asJson, asText } from "../../output/result.ts";
import type { Config } from "../../roster/config.ts";
import { reachableToRead } from "../../roster/to-read.ts";
import { type ExitCode, type Io, printJson, printSummary } from "../io.ts";
import { loggedRun } from "../logged-run.ts";
import { migratedText } from "../migrated-text.ts";
import { type Define, narrowedConfig, only, type Reporting, reporting } from "../options.ts";
import { planCommand } from "./plan.ts";
import { openReporter } from "./reporter.ts";
import type { SyncResult } from "./sync-result.ts";
import { type SyncDeps, sync } from "./sync-run.ts";
import { resultOf } from "./sync-summary.ts";
import {
  allTargets,
  contractTypesOf,
  forTargets,
  needsCredentials,
  type Targets,
  targetsOf,
} from "./targets.ts";

export type SyncOptions = {
  readonly json: boolean;
  /** Default all. The configuration says which accounts have which targets. */
  readonly targets?: Targets;
  /** The product types whose contracts are read. Default those of the configuration. */
  readonly contractTypes?: readonly ContractProductType[];
  /** Whether to accept keys that are new for their accounts without proof. Default false. */
  readonly newKey?: boolean;
  /** Whether to end with a check of what changed. Default true. */
  readonly reconcile?: boolean;
};

/**
 * `sync`: brings symbols, contracts, and every account's loan-to-value and bills up to date. An
 * error of one account or list does not make it throw.
 */
export async function syncCommand(given: Config, io: Io, options: SyncOptions): Promise<ExitCode> {
  using reporter = openReporter(given.logLevel, io);
  await using database = await openCommandDatabase(given.database, reporter.notice);
  const { json, targets = allTargets, newKey = false, reconcile = true, contractTypes } = options;
  const onResult = (result: SyncResult) => {
    const shown = resultOf(result);
    if (json) printJson(io, asJson(shown));
    else printSummary(io, asText(shown));
  };
  const { signal } = io;
  const deps = { database, reporter, signal, targets, newKey, reconcile, onResult };
  return await runSync(given, { ...deps, ...(contractTypes && { contractTypes }) });
}

export type SyncRunDeps = Pick<
  SyncDeps,
  "reporter" | "signal" | "targets" | "newKey" | "onResult"
> & {
  readonly database: CommandDatabase;
  /** Whether to end with a check of what changed. */
  readonly reconcile: boolean;
  readonly contractTypes?: readonly ContractProductType[];
};

/**
 * A whole sync. Its result is reported before it is written to the run log, because writing may
 * fail.
 */
export async function runSync(given: Config, deps: SyncRunDeps): Promise<ExitCode> {
  const { database, reporter, signal } = deps;
  for (const warning of given.warnings) reporter.warn(warning);
  const sayStopping = () =>
    reporter.notice(
      "stopping after the pages in hand; a second signal stops at once, which is safe, too",
    );
  signal.addEventListener("abort", sayStopping);
  try {
    await using session = await openSyncSession({ database, notice: reporter.notice });
    return await session.run(given, deps);
  } finally {
    signal.removeEventListener("abort", sayStopping);
  }
}

export type SyncSessionDeps = {
  readonly database: CommandDatabase;
  readonly notice: (message: string) => void;
  /** How requests leave this machine. Default as the system chooses. */
  readonly egress?: Egress;
};

/** What the syncs of one process share: a migrated database, and access to the exchange. */
export type SyncSession = AsyncDisposable & {
  /** Syncs the accounts of a configuration, as one row in the run log. */
  run(config: Config, deps: Omit<SyncRunDeps, "database">): Promise<ExitCode>;
  /**
   * The error after which no more requests are sent: the exchange banned this machine's address.
   */
  ban(): ExchangeError | undefined;
};

export async function openSyncSession(given: SyncSessionDeps): Promise<SyncSession> {
  const { database, notice, egress = {} } = given;
  const { db } = database;
  const migrated = migratedText(await migrate(database.url.reveal()));
  if (migrated !== undefined) notice(migrated);
  await using stack = new AsyncDisposableStack();
  const access = stack.use(openExchangeAccess(egress));
  stack.use(await shareAddress(db, access.addressLimits, access.clock, egress));
  const leases = new Leases(db, { holder: holderName(process.pid, egress) });
  const kept = stack.move();
  return {
    async run(whole, deps) {
      const { config, notices, unreachable } = await reachableToRead(db, whole);
      for (const line of notices) deps.reporter.warn(line);
      const lockWaits = new LockWaits(db);
      const { contractTypes = contractTypesOf(config) } = deps;
      const isOfBills = deps.targets.has("bills") || deps.targets.has("ltv");
      // A check may wait an hour for a statement: while a node is away, it is left to a later sync.
      const isChecked = deps.reconcile && isOfBills && unreachable.length === 0;
      const shared = { db, checks: isChecked ? db : undefined, access, leases, lockWaits };
      return await loggedRun(
        db,
        "sync",
        (runId) => sync({ ...deps, ...shared, config, unreachable, contractTypes, runId }),
        deps.signal,
      );
    },
    ban: () => access.addressLimits.ban(),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

const help = `
The summary counts, for each product type:
  new               bills stored for the first time
  restated          bills served with other content; bill_revisions keeps what
                    it replaced
  rejected          rows that broke the API's contract; rejected_bills keeps
                    them as served
  complete through  up to this time no bill is missing that the exchange showed
                    when the time was read
Below the table it says how many spot pairs and futures contracts are new,
changed, gone or listed again, and what each risk unit's loan-to-value is.

--account and --product choose the accounts and product types, --only chooses
among bills, ltv, symbols and contracts. The last two need no API key. Contracts
are read for the product types that are configured or chosen.

A new API key of an account must serve bills that are stored for this account.
If it does not, nothing is written. If all stored bills are too old to be read
again, the key is accepted, with a notice. --new-key skips this check.`;

type SyncWords = Reporting & {
  readonly newKey: boolean;
  readonly dryRun: boolean;
  readonly reconcile: boolean;
};

export const define: Define = (command, { io, readEnvironment }, exitWith) => {
  const sync = ({ json, newKey, dryRun, reconcile, ...options }: SyncWords) => {
    const targets = targetsOf(options.only);
    const hasSecrets = !dryRun && needsCredentials(targets);
    const whole = narrowedConfig(readEnvironment, hasSecrets, { ...options, json });
    const config = forTargets(whole, targets);
    const shared = { json, targets, contractTypes: contractTypesOf(whole) };
    return dryRun
      ? planCommand(config, io, shared)
      : syncCommand(config, io, { ...shared, newKey, reconcile });
  };
  reporting(command)
    .addOption(only())
    .option("--new-key", "accept API keys without proof that they belong to their accounts", false)
    .option("--no-reconcile", "leave out the check of what changed, with which it ends")
    .option("--dry-run", "show what it would fetch; asks the exchange only for its time", false)
    .addHelpText("after", help)
    .action(exitWith(sync));
};
