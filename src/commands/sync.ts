import { type Account, withCredentials } from "../accounts/account.ts";
import type { Config } from "../accounts/config.ts";
import { type AccountsToRead, accountsToRead, type Selection } from "../accounts/roster.ts";
import { countRejected } from "../check/health/ledgers.ts";
import { readSideBySide } from "../core/exchange/address-limits.ts";
import { rightsLine } from "../core/exchange/key-rights.ts";
import { type ExchangeAccess, openExchange, openExchangeAccess } from "../core/exchange/session.ts";
import type { Database } from "../core/postgres/connect.ts";
import { Leases } from "../core/store/lease.ts";
import { openStore } from "../core/store/ledger-store.ts";
import { migrate } from "../core/store/migrate.ts";
import { replayRejected } from "../core/store/replay-rows.ts";
import { type AccountReport, failedReport } from "../core/sync/account-report.ts";
import { syncAccount } from "../core/sync/run.ts";
import { syncLists } from "../core/sync/settings-lists.ts";
import type { KeyAnswer } from "../core/words/account-state.ts";
import { DatabaseError, type ExchangeError } from "../lib/errors.ts";
import type { Result } from "../output/result.ts";
import { formatCounted } from "../output/text.ts";
import { checkSynced } from "./check-synced.ts";
import type { Io, Wings } from "./io.ts";
import { loggedRun } from "./logged-run.ts";
import { type CommandDatabase, openCommandDatabase } from "./open.ts";
import { openAccount } from "./open-account.ts";
import { type Define, type LedgerFlags, reporting, selectedConfig } from "./options.ts";
import { migratedText } from "./stored.ts";
import { planCommand } from "./sync-plan.ts";
import { noticeFailure, openReporter, type Reporter } from "./sync-reporter.ts";
import { countsOf, resultOfSync, type SyncResult, syncResult } from "./sync-result.ts";
import {
  assertLoanToValueWanted,
  forTargets,
  isOfAccounts,
  listsOf,
  type Targets,
  targetsOf,
} from "./sync-targets.ts";

/** The caller's choices for a run. */
type RunDeps = {
  readonly signal: AbortSignal;
  readonly reporter: Reporter;
  readonly wings: Pick<Wings, "recovery">;
  readonly selection: Selection;
  readonly targets: Targets;
  /** Takes keys without proof that they belong to the accounts. Default not. */
  readonly trustKey?: boolean | undefined;
  /** Whether to end with a check of what changed. Default true. */
  readonly reconcile?: boolean | undefined;
};

/**
 * `sync`: brings spot pairs, contracts, and every account's loan-to-value and bills up to date. An
 * error of one account or list does not make it throw.
 */
export async function syncCommand(
  config: Config,
  io: Io,
  choices: Omit<RunDeps, "reporter" | "signal" | "wings">,
): Promise<Result> {
  const { signal, wings } = io;
  using reporter = openReporter(config.logLevel, io);
  await using database = await openCommandDatabase(config.database, {
    ...{ notify: reporter.notice, wings },
  });
  return resultOfSync(
    await runSync(config, { ...choices, ...{ signal, wings, database, reporter } }),
  );
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

export type SyncSession = Awaited<ReturnType<typeof openSyncSession>>;

/**
 * What the syncs of one process share: a migrated database, and access to the exchange.
 * @param localAddress the address of this machine that requests are sent from. Default the system's choice.
 */
export async function openSyncSession(
  { db }: Pick<CommandDatabase, "db">,
  notice: (message: string) => void,
  localAddress?: string,
) {
  const migrated = migratedText(await migrate(db));
  if (migrated !== undefined) notice(migrated);
  const access = openExchangeAccess({ localAddress });
  const leases = new Leases(db);
  return {
    /** Syncs accounts of a configuration, as one row in the run log. */
    async run(config: Config, deps: RunDeps): Promise<SyncResult> {
      const read = await accountsToRead(db, config, deps.selection);
      return loggedRun({ db, notice: deps.reporter.warn }, "sync", (runId) =>
        syncAccounts({ ...deps, db, access, leases, config }, read, runId),
      );
    },
    /** The error after which no more requests are sent: the exchange banned this machine's address. */
    ban: () => access.addressLimits.ban(),
    [Symbol.asyncDispose]: () => access[Symbol.asyncDispose](),
  };
}

type SyncDeps = RunDeps & {
  readonly config: Config;
  readonly db: Database;
  readonly access: ExchangeAccess;
  readonly leases: Leases;
};

/** Syncs lists and accounts side by side, and then checks what changed. */
async function syncAccounts(
  deps: SyncDeps,
  { selected, accounts: read, notSynced }: AccountsToRead,
  runId: string,
): Promise<SyncResult & { readonly counts: object }> {
  const { db, targets, signal, reporter, reconcile = true } = deps;
  const startedAt = performance.now();
  const toSync = forTargets(read, targets);
  // The lists begin first. If they fail, nothing waits for them.
  const [lists, accounts] = await Promise.all([
    syncLists(listDeps(deps), listsOf(targets, selected)),
    readSideBySide(toSync, (account) => syncOneAccount(deps, account)),
  ]);
  const namesOf = (isNamed: (error: unknown) => boolean) =>
    accounts.filter(({ error }) => isNamed(error)).map(({ account }) => account);
  const answered = namesOf((error) => !(error instanceof DatabaseError));
  const rejected =
    answered.length === 0
      ? []
      : await countRejected(db, answered).catch((error: unknown) => ({ error }));
  const names = namesOf((error) => error === undefined);
  const whole = toSync.filter(({ name }) => names.includes(name));
  const isChecked = reconcile && !signal.aborted && whole.length > 0;
  const result = syncResult({
    ...{ runId, lists, accounts, rejected },
    notSynced: isOfAccounts(targets) ? notSynced : [],
    reconciled: isChecked ? await checkSynced(deps, whole) : undefined,
    elapsedMs: performance.now() - startedAt,
  });
  reporter.end(result);
  return { ...result, counts: countsOf(result) };
}

/** The lists are public: this client has no key that it could send. */
const listDeps = ({ config, signal, reporter, db, access }: SyncDeps) => ({
  ...{ db, signal, client: openExchange(config, {}, access).client },
  onFailure: (name: string, failure: ExchangeError) =>
    noticeFailure(reporter.notice, name)(failure),
});

/** Opens an account with its key and its tables, and syncs it. Never throws: failures are in the report. */
async function syncOneAccount(deps: SyncDeps, configured: Account): Promise<AccountReport> {
  const { config, db, signal, reporter, access, targets, wings, trustKey = false } = deps;
  const { notice } = reporter;
  const { name } = configured;
  try {
    const account = withCredentials(configured);
    const exchange = openExchange(config, account, access);
    const opening = { ...deps, isTrusted: trustKey, onWait: notice };
    await using opened = await openAccount(opening, account, exchange);
    const leased = {
      store: openStore(db, opened),
      assertHeld: opened.assertHeld,
      /** Once the key is the account's, rejected rows are tried again. */
      async acceptKey(answer: KeyAnswer) {
        const { isNew } = await opened.acceptKey(answer);
        if (isNew) notice(`${name}: ${rightsLine(answer.info)}`);
        if (!targets.has("bills")) return;
        const stored = await replayRejected(db, opened, name, () => signal.throwIfAborted());
        if (stored > 0) notice(`${name}: ${formatCounted(stored, "rejected row")} can be read now`);
      },
    };
    const recovery = targets.has("bills") ? await wings.recovery?.() : undefined;
    const syncing = {
      ...{ leased, signal, client: exchange.client, exchangeNow: exchange.exchangeNow },
      settleLagMs: config.settleLagMs,
      recover: recovery?.recoveryWith({ recoverFrom: config.recoverFrom, reporter }),
      sleep: access.clock.sleep,
      onProgress: reporter.progress,
      onFailure: noticeFailure(notice, name),
    };
    return await syncAccount(syncing, account);
  } catch (error) {
    return failedReport(name, error);
  }
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
