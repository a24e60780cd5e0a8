import type { Account } from "../accounts/account.ts";
import type { Config } from "../accounts/config.ts";
import { readableTypes, type Selection, selectedAccounts } from "../accounts/roster.ts";
import { accountsToRead } from "../accounts/to-read.ts";
import { pageSizeMax } from "../core/contract/account-bills.ts";
import { symbols } from "../core/contract/symbols.ts";
import { exchangeOf, openExchangeAccess } from "../core/exchange/session.ts";
import {
  type AccountStates,
  noStates,
  readAccountStates,
} from "../core/store/accounts/account-states.ts";
import { readKnownTimes } from "../core/store/known-time.ts";
import { nothingToRead } from "../core/sync/account-mode.ts";
import type { LedgerPlan } from "../core/words/nouns.ts";
import { planLedger } from "../core/words/plan.ts";
import { UsageError } from "../lib/errors.ts";
import { didYouMean } from "../lib/nearest.ts";
import type { EpochMs } from "../lib/time.ts";
import {
  formatCounted,
  formatInterval,
  jsonInterval,
  jsonTime,
  ledgerName,
} from "../output/output-format.ts";
import { type Columns, ledgerColumns, type Result, table } from "../output/result.ts";
import { type Io, note } from "./io.ts";
import { type CommandDatabase, openCommandDatabase } from "./open.ts";
import { type Define, type LedgerFlags, reporting, selectedConfig } from "./options.ts";
import { openStored, withUnreachable } from "./stored.ts";
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
import { resultOfSync } from "./sync-summary.ts";

/**
 * `sync`: brings spot pairs, contracts, and every account's loan-to-value and bills up to date. An
 * error of one account or list does not make it throw.
 */
export async function syncCommand(
  config: Config,
  io: Io,
  choices: Omit<RunDeps, "reporter" | "signal">,
): Promise<Result> {
  const { signal, wings } = io;
  using reporter = openReporter(config.logLevel, io);
  await using database = await openCommandDatabase(config.database, {
    ...{ notify: reporter.notice, wings },
  });
  return resultOfSync(await runSync(config, { ...choices, signal, database, reporter }));
}

/** A whole sync. */
export async function runSync(
  config: Config,
  deps: RunDeps & { readonly database: CommandDatabase },
): Promise<SyncResult> {
  const { database, reporter, signal } = deps;
  const sayStopping = () =>
    reporter.notice(
      "stopping after the pages in hand; a second signal stops at once, which is safe, too",
    );
  signal.addEventListener("abort", sayStopping);
  try {
    await using session = await openSyncSession(database, reporter.notice);
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
function assertLoanToValueWanted(config: Config, selection: Selection, targets: Targets): void {
  if (config.addedAccount !== undefined || !targets.has("ltv")) return;
  if (forTargets(selectedAccounts(config, selection), targets).length === 0)
    throw new UsageError("--only ltv: no account asks for it; set SYNC_LTV=true");
}

/** `sync --dry-run`: what sync would fetch. Writes nothing and asks the exchange for its time only. */
async function planCommand(
  config: Config,
  io: Io,
  { selection, targets }: Pick<RunDeps, "selection" | "targets">,
): Promise<Result> {
  await using stored = await openStored(config, io);
  const { db } = stored;
  const now = await exchangeTime(config, io.signal);
  const { accounts: read, notSynced, unreachable } = await accountsToRead(db, config, selection);
  const accounts = forTargets(read, targets);
  const names = accounts.map(({ name }) => name);
  const states = db ? await readAccountStates(db, names) : noStates;
  for (const line of [...notSynced, ...remarks(accounts, states)]) note(io, line);
  const ledgers = accounts.flatMap((account) =>
    readableTypes(account, states.of(account.name)).map((productType) => ({
      account: account.name,
      productType,
    })),
  );
  const times = db ? await readKnownTimes(db, ledgers) : { of: () => nothingKnown };
  const { settleLagMs } = config;
  const plans = ledgers.map((ledger) => planLedger(ledger, times.of(ledger), { now, settleLagMs }));
  const { data, parts } = planResult(plans);
  const whole = { data: { exchangeTime: jsonTime(now), ...data }, parts, exit: 0 } as const;
  return withUnreachable(whole, unreachable);
}

/** Every public answer carries the exchange's time, and the answer for one symbol is the smallest. */
async function exchangeTime(config: Config, signal: AbortSignal): Promise<EpochMs> {
  await using access = openExchangeAccess();
  const { client, exchangeNow } = exchangeOf(config, {}, access);
  await client.ask(symbols, { symbol: "BTCUSDT" }, { signal });
  return exchangeNow();
}

const nothingKnown = { coverage: [], lost: [], open: [] };

/** Warns of accounts without a configured product type for their mode, and of accounts whose mode is unknown. */
function remarks(accounts: readonly Account[], states: AccountStates): readonly string[] {
  const modeOf = ({ name }: Account) => states.of(name).mode?.name;
  const unknown = accounts.filter((account) => account.readsAll && modeOf(account) === undefined);
  return [
    ...accounts.flatMap((account) => {
      const mode = modeOf(account);
      return (mode && nothingToRead(account, mode)) ?? [];
    }),
    ...(unknown.length === 0
      ? []
      : [
          `planned as classic until their first sync: ${formatCounted(unknown.length, "account")}; a unified account, ` +
            "as the exchange makes them today, has other product types and fewer windows",
        ]),
  ];
}

// An empty window takes two requests, which ask in two ways.
const requestsPerWindow = 2;

/** What a sync would read of bills, and the least that it takes. */
export function planResult(plans: readonly LedgerPlan[]): Pick<Result, "data" | "parts"> {
  const windowsPlanned = plans.reduce((sum, { walks }) => sum + walks.length, 0);
  const requestsMin = requestsPerWindow * windowsPlanned;
  const spansOf = ({ walks }: LedgerPlan) => walks.map(({ window }) => window);
  const columns: Columns<LedgerPlan> = {
    ...ledgerColumns(plans, ({ ledger }) => ledger),
    count: { kind: "count", title: "windows", isForPeople: true, of: ({ walks }) => walks.length },
    resumed: {
      kind: "count",
      isForPeople: true,
      of: ({ walks }) => walks.filter(({ cursor }) => cursor !== undefined).length,
    },
    time: { kind: "spans", isForPeople: true, of: spansOf },
    from: { kind: "time", isForPeople: true, of: (plan) => spansOf(plan)[0]?.from },
    windows: {
      kind: "value",
      of: ({ walks }) =>
        walks.map(({ window, cursor }) => ({
          ...jsonInterval(window),
          resumed: cursor !== undefined,
        })),
    },
    lost: { kind: "spans", title: "", of: ({ lost }) => lost },
  };
  return {
    data: { windowsPlanned, requestsMin },
    parts: [
      table("ledgers", columns, plans),
      ...plans.flatMap(({ ledger, lost }) =>
        lost.map((time) => `${ledgerName(ledger)}: lost ${formatInterval(time)}`),
      ),
      `${formatCounted(windowsPlanned, "window")}, ${formatCounted(requestsMin, "request")} at least` +
        (windowsPlanned === 0 ? "" : `, plus one for every page of up to ${pageSizeMax} bills`),
    ],
  };
}

const help = `
The summary counts, for each product type, new bills, restated ones (served with
other content; bill_revisions keeps what it replaced) and rejected rows (kept as
served), and says up to when it is complete. Spot pairs and contracts need no
key.

A new API key of an account must be of the same user of the exchange. If it is
not, or the exchange does not tell, nothing is written. --trust-key takes it,
and reads again what can be read.`;

type SyncFlags = LedgerFlags & {
  readonly only?: readonly string[];
  readonly trustKey: boolean;
  readonly dryRun: boolean;
  readonly reconcile: boolean;
};

export const define: Define = (command, program) => {
  const { io, runs } = program;
  const sync = async ({ only, trustKey, dryRun, reconcile, ...which }: SyncFlags) => {
    const targets = targetsOf(only);
    const { config, selection } = selectedConfig(program, !dryRun && isOfAccounts(targets), which);
    assertLoanToValueWanted(config, selection, targets);
    return dryRun
      ? planCommand(config, io, { selection, targets })
      : syncCommand(config, io, { selection, targets, trustKey, reconcile });
  };
  reporting(command)
    .option("--only <target...>", "only these targets: bills, ltv, spot-pairs, contracts")
    .option(
      "--trust-key",
      "store a key's bills under this account without proof that they belong there, forget the account's earlier keys, and read the last 90 days again",
      false,
    )
    .option("--no-reconcile", "skip the final check of what changed")
    .option("--dry-run", "show what it would fetch; asks the exchange only for its time", false)
    .addHelpText("after", help)
    .action(runs(sync));
};
