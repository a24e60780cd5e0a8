import { type Account, type AccountWithCredentials, withCredentials } from "../accounts/account.ts";
import type { Config } from "../accounts/config.ts";
import {
  accountsToRead,
  readableTypes,
  type Selection,
  selectedAccounts,
} from "../accounts/roster.ts";
import { countRejected } from "../check/health/ledgers.ts";
import { type Break, type BrokenSpan, readBreaks } from "../check/reconcile/breaks.ts";
import type { UnsettledBalance } from "../check/reconcile/reconcile.ts";
import { type LedgerVerification, repairedIn } from "../check/verify/verify.ts";
import { pageSizeMax } from "../core/contract/account-bills.ts";
import {
  type ContractProductType,
  contractProductTypes,
  contractTypeOf,
} from "../core/contract/product-types.ts";
import { symbols } from "../core/contract/symbols.ts";
import { readSideBySide } from "../core/exchange/address-limits.ts";
import { rightsLine } from "../core/exchange/key-rights.ts";
import {
  type AccountExchange,
  type ExchangeAccess,
  exchangeOf,
  openExchangeAccess,
} from "../core/exchange/session.ts";
import type { Database } from "../core/postgres/connect.ts";
import {
  type AccountStates,
  noStates,
  readAccountStates,
} from "../core/store/accounts/account-states.ts";
import { analyzeGrown } from "../core/store/analyze.ts";
import { readKnownTimes } from "../core/store/known-time.ts";
import { Leases } from "../core/store/lease.ts";
import { openStore } from "../core/store/ledger-store.ts";
import { migrate } from "../core/store/migrate.ts";
import { commitContracts, commitSymbols } from "../core/store/reference/stored-symbols.ts";
import { replayRejected } from "../core/store/replay-rows.ts";
import { nothingToRead } from "../core/sync/account-mode.ts";
import { type AccountReport, syncAccount } from "../core/sync/run.ts";
import { syncContracts, syncSymbols } from "../core/sync/settings-lists.ts";
import type { KeyAnswer } from "../core/words/account-state.ts";
import type { LedgerPlan } from "../core/words/ledger.ts";
import { planLedger } from "../core/words/plan.ts";
import { DatabaseError, UsageError } from "../lib/errors.ts";
import { didYouMean } from "../lib/nearest.ts";
import type { EpochMs } from "../lib/time.ts";
import { type Columns, ledgerColumns, type Result, table } from "../output/result.ts";
import {
  formatCounted,
  formatInterval,
  jsonInterval,
  jsonTime,
  ledgerName,
} from "../output/text.ts";
import { checkAndHeal, healAccount } from "./heal.ts";
import { type Io, note, type Wings } from "./io.ts";
import { loggedRun } from "./logged-run.ts";
import { type CommandDatabase, openCommandDatabase } from "./open.ts";
import { openAccount } from "./open-account.ts";
import { type Define, type LedgerFlags, reporting, selectedConfig } from "./options.ts";
import { migratedText, openStored } from "./stored.ts";
import { noticeFailure, openReporter, type Reporter } from "./sync-reporter.ts";
import {
  countsOf,
  type NamedList,
  resultOfSync,
  type SyncResult,
  type SyncRun,
  syncResult,
} from "./sync-result.ts";
import { remarksOf } from "./verify.ts";

/** The parts of a sync, as `--only` names them. */
export const targetNames = ["bills", "ltv", "spot-pairs", "contracts"] as const;
export type Target = (typeof targetNames)[number];
type Targets = ReadonlySet<Target>;

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
  { db, url }: CommandDatabase,
  notice: (message: string) => void,
  localAddress?: string,
) {
  const migrated = migratedText(await migrate(url.reveal()));
  if (migrated !== undefined) notice(migrated);
  await using stack = new AsyncDisposableStack();
  const access = stack.use(openExchangeAccess({ localAddress }));
  const leases = new Leases(db);
  const resources = stack.move();
  return {
    /** Syncs accounts of a configuration, as one row in the run log. */
    async run(config: Config, deps: RunDeps): Promise<SyncResult> {
      const { targets, reporter, reconcile = true } = deps;
      const read = await accountsToRead(db, config, deps.selection);
      const accounts = forTargets(read.accounts, targets);
      const shared = {
        ...{ db, access, leases, config, accounts },
        contractTypes: contractTypesOf(read.selected),
        reconcile,
      };
      return await loggedRun({ db, notice: reporter.warn }, "sync", async (runId) => {
        const notSynced = isOfAccounts(targets) ? read.notSynced : [];
        return sync({ ...deps, ...shared, runId }, notSynced);
      });
    },
    /** The error after which no more requests are sent: the exchange banned this machine's address. */
    ban: () => access.addressLimits.ban(),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Symbols and contracts are public: a sync of nothing else needs no account and no key. */
export const isOfAccounts = (targets: Targets): boolean =>
  targets.has("bills") || targets.has("ltv");

/** The accounts with what the targets are of them. Those of which they are nothing are left out. */
const forTargets = (accounts: readonly Account[], targets: Targets): readonly Account[] =>
  accounts
    .map((account) => ({
      ...account,
      productTypes: targets.has("bills") ? account.productTypes : [],
      ltv: targets.has("ltv") && account.ltv === true,
    }))
    .filter(({ productTypes, ltv }) => productTypes.length > 0 || ltv);

/** The product types whose contracts a sync of these accounts reads. */
function contractTypesOf(accounts: readonly Account[]): readonly ContractProductType[] {
  const wanted = new Set(
    accounts.flatMap(({ productTypes }) => productTypes).map((type) => contractTypeOf(type)),
  );
  return contractProductTypes.filter((type) => wanted.has(type));
}

type SyncDeps = RunDeps & {
  readonly config: Config;
  readonly accounts: readonly Account[];
  readonly contractTypes: readonly ContractProductType[];
  readonly db: Database;
  readonly access: ExchangeAccess;
  readonly runId: string;
  readonly leases: Leases;
};

/**
 * Runs one sync of several accounts, side by side.
 * @param notSynced a line for each account of which something is retired.
 */
async function sync(
  deps: SyncDeps,
  notSynced: readonly string[],
): Promise<SyncResult & { readonly counts: object }> {
  const { accounts, reporter, db, runId } = deps;
  const startedAt = performance.now();
  // Symbols and contracts begin first. If they fail, nothing waits for them.
  const [lists, reports] = await Promise.all([
    syncLists(deps),
    readSideBySide(accounts, (account) => syncOneAccount(deps, account)),
  ]);
  const namesOf = (isNamed: (error: unknown) => boolean) =>
    reports.filter(({ error }) => isNamed(error)).map(({ account }) => account);
  const answered = namesOf((error) => !(error instanceof DatabaseError));
  const rejected =
    answered.length === 0
      ? []
      : await countRejected(db, answered).catch((error: unknown) => ({ error }));
  const whole = namesOf((error) => error === undefined);
  const reconciled = await checkAccounts(
    deps,
    accounts.filter(({ name }) => whole.includes(name)),
  );
  const elapsedMs = performance.now() - startedAt;
  const result = syncResult({
    ...{ runId, lists, notSynced, accounts: reports, rejected, reconciled, elapsedMs },
  });
  reporter.end(result);
  return { ...result, counts: countsOf(result) };
}

/**
 * Checks what changed in these accounts, one after the other, as `reconcile --repair` does: what does not add up is read
 * again, once. A sync that was stopped leaves it to the next one.
 */
async function checkAccounts(
  deps: SyncDeps,
  accounts: readonly Account[],
): Promise<SyncRun["reconciled"]> {
  const { db, reconcile: isChecked, signal, reporter } = deps;
  if (!isChecked || signal.aborted || accounts.length === 0) return undefined;
  const opened: Break[] = [];
  const healed: LedgerVerification[] = [];
  const unsettled: UnsettledBalance[] = [];
  const counts = { isFull: false, chains: 0, breaks: 0, healed: 0 };
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
        const checking = { isFull: false, isDue: true };
        const healing = (spans: readonly BrokenSpan[]) => heal(account, spans);
        const checked = await checkAndHeal(db, among, checking, healing);
        const { breaks, chains } = checked;
        unsettled.push(...checked.unsettled);
        opened.push(...breaks.filter(({ breakId }) => !idsBefore.has(breakId)));
        counts.breaks += breaks.length;
        counts.chains += chains.length;
        reporter.step("checked", { done: 1 });
      }
      return { counts, errors: [], isIncomplete: counts.breaks > 0, didWork: true };
    });
    return { open: counts.breaks, opened, healed, unsettled };
  } catch (error) {
    return { error };
  }
}

async function syncLists(deps: SyncDeps): Promise<readonly NamedList[]> {
  const { targets, contractTypes } = deps;
  const [symbols, contracts] = await Promise.all([
    targets.has("spot-pairs") ? syncSymbols(listDeps(deps, "spot pairs")) : undefined,
    targets.has("contracts") ? syncContracts(listDeps(deps, "contracts"), contractTypes) : [],
  ]);
  return [
    ...(symbols === undefined ? [] : [{ name: "spot pairs", ...symbols }]),
    ...contracts.map((list) => ({ name: `contracts of ${list.productType}`, ...list })),
  ];
}

/** The lists are public: this client has no key that it could send. */
const listDeps = ({ config, signal, reporter, db, access }: SyncDeps, name: string) => ({
  client: exchangeOf(config, {}, access).client,
  commitSymbols: (list: Parameters<typeof commitSymbols>[1]) => commitSymbols(db, list),
  commitContracts: (list: Parameters<typeof commitContracts>[1]) => commitContracts(db, list),
  signal,
  onFailure: noticeFailure(reporter.notice, name),
});

const failedReport = (account: string, error: unknown): AccountReport => ({
  account,
  loanToValue: [],
  ledgers: [],
  error,
});

async function syncOneAccount(deps: SyncDeps, configured: Account): Promise<AccountReport> {
  const { config, signal, reporter, access, targets, wings } = deps;
  const account = await Promise.try(withCredentials, configured).catch((error: unknown) => ({
    error,
  }));
  if ("error" in account) return failedReport(configured.name, account.error);
  const exchange = exchangeOf(config, account, access);
  const recovery = targets.has("bills") ? await wings.recovery?.() : undefined;
  return syncAccount(
    {
      exchangeOf: () => exchange,
      takeLease: () => hold(deps, account, exchange),
      settleLagMs: config.settleLagMs,
      recover: recovery?.recoveryWith({
        recoverFrom: config.recoverFrom,
        onRecover(types, wantedMs) {
          reporter.notice(
            `${account.name}: older bills of ${types.join(", ")} come from tax records, at a request a second`,
          );
          reporter.step("recovered", { planned: wantedMs });
        },
        onRecovered: (ms) => reporter.step("recovered", { done: ms }),
      }),
      sleep: access.clock.sleep,
      signal,
      onProgress: reporter.progress,
      onFailure: noticeFailure(reporter.notice, account.name),
    },
    account,
  );
}

/** Opens the account and its tables. Once its key is taken, rejected rows are tried again. */
async function hold(deps: SyncDeps, account: AccountWithCredentials, exchange: AccountExchange) {
  const { db, signal, reporter, targets, trustKey: isTrusted = false } = deps;
  const { name } = account;
  const opening = { ...deps, isTrusted, onWait: reporter.notice };
  const opened = await openAccount(opening, account, exchange);
  return {
    ...opened,
    store: openStore(db, opened),
    async takeKey(answer: KeyAnswer) {
      const { isNew } = await opened.takeKey(answer);
      if (isNew) reporter.notice(`${name}: ${rightsLine(answer.info)}`);
      if (!targets.has("bills")) return;
      const stored = await replayRejected(db, opened, name, () => signal.throwIfAborted());
      if (stored > 0)
        reporter.notice(`${name}: ${formatCounted(stored, "rejected row")} can be read now`);
    },
  };
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
  const { accounts: read, notSynced } = await accountsToRead(db, config, selection);
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
  return { data: { exchangeTime: jsonTime(now), ...data }, parts, exit: 0 };
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
  if (targets.has("ltv") && forTargets(selectedAccounts(config, selection), targets).length === 0)
    throw new UsageError("--only ltv: no account asks for it; set SYNC_LTV=true");
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
