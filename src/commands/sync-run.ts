import { type Account, type AccountWithCredentials, withCredentials } from "../accounts/account.ts";
import type { Config } from "../accounts/config.ts";
import type { Selection } from "../accounts/roster.ts";
import { type AccountsToRead, accountsToRead } from "../accounts/to-read.ts";
import { countRejected } from "../check/health/ledgers.ts";
import { type Break, readBreaks } from "../check/reconcile/breaks.ts";
import { reconcileAccount } from "../check/reconcile/reconcile.ts";
import {
  type ContractProductType,
  contractProductTypes,
  contractTypeOf,
} from "../core/contract/product-types.ts";
import { readSideBySide } from "../core/exchange/address-limits.ts";
import { rightsLine } from "../core/exchange/key-rights.ts";
import {
  type AccountExchange,
  type ExchangeAccess,
  exchangeOf,
  openExchangeAccess,
} from "../core/exchange/session.ts";
import type { Database } from "../core/postgres/connect.ts";
import { migrate } from "../core/postgres/migrate.ts";
import { analyzeGrown } from "../core/store/analyze.ts";
import { readUsers, type Users } from "../core/store/lease/lease.ts";
import { type Egress, holderName, Leases, shareAddress } from "../core/store/lease/leases.ts";
import { openStore } from "../core/store/ledger-store.ts";
import { commitContracts, commitSymbols } from "../core/store/reference/stored-symbols.ts";
import { replayRejected } from "../core/store/replay-rows.ts";
import { type AccountReport, syncAccount } from "../core/sync/run.ts";
import { syncContracts, syncSymbols } from "../core/sync/settings-lists.ts";
import type { KeyAnswer } from "../core/words/nouns.ts";
import { DatabaseError } from "../lib/errors.ts";
import { type EpochMs, epochMs } from "../lib/time.ts";
import { formatCounted } from "../output/output-format.ts";
import { recoverDefaultMs } from "../wings/recovery/recover.ts";
import { loggedRun } from "./exit-code.ts";
import type { CommandDatabase } from "./open.ts";
import { openAccount } from "./open-account.ts";
import { migratedText } from "./stored.ts";
import { noticeFailure, type Reporter } from "./sync-reporter.ts";
import { type NamedList, type SyncResult, type SyncRun, syncResult } from "./sync-result.ts";
import { countsOf } from "./sync-summary.ts";

/** The parts of a sync, as `--only` names them. */
export const targetNames = ["bills", "ltv", "spot-pairs", "contracts"] as const;
export type Target = (typeof targetNames)[number];
export type Targets = ReadonlySet<Target>;

/** The caller's choices for a run. */
export type RunDeps = {
  readonly signal: AbortSignal;
  readonly reporter: Reporter;
  readonly selection: Selection;
  readonly targets: Targets;
  /** Takes keys without proof that they belong to the accounts. Default not. */
  readonly trustKey?: boolean | undefined;
  /** Whether to end with a check of what changed. Default true. */
  readonly reconcile?: boolean | undefined;
};

export type SyncSession = Awaited<ReturnType<typeof openSyncSession>>;

/**
 * What the syncs of one process share: a migrated database, and access to the exchange.
 * @param egress how requests leave this machine. Default as the system chooses.
 */
export async function openSyncSession(
  { db, url }: CommandDatabase,
  notice: (message: string) => void,
  egress: Egress = {},
) {
  const migrated = migratedText(await migrate(url.reveal()));
  if (migrated !== undefined) notice(migrated);
  await using stack = new AsyncDisposableStack();
  const access = stack.use(openExchangeAccess(egress));
  stack.use(await shareAddress(db, access.addressLimits, access.clock, egress));
  const leases = new Leases(db, { holder: holderName(process.pid, egress) });
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
        // A check may wait an hour for a statement: while a node is away, it is left to a later sync.
        reconcile: reconcile && read.unreachable.length === 0,
      };
      return await loggedRun({ db, notice: reporter.warn }, "sync", async (runId) => {
        const names = accounts.map(({ name }) => name);
        const users = await readUsers(db, names);
        const leftOut = isOfAccounts(targets) ? read : { notSynced: [], unreachable: [] };
        return sync({ ...deps, ...shared, runId, users }, leftOut);
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
export const forTargets = (accounts: readonly Account[], targets: Targets): readonly Account[] =>
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
  /** The users of accounts for which none is configured. */
  readonly users: Users;
};

/**
 * Runs one sync of several accounts, side by side.
 * @param leftOut what of the accounts is not synced: it is paused or retired, or its rows cannot be reached.
 */
async function sync(
  deps: SyncDeps,
  { notSynced, unreachable }: Pick<AccountsToRead, "notSynced" | "unreachable">,
): Promise<SyncResult & { readonly counts: object }> {
  const { accounts, reporter, db, runId } = deps;
  const startedAt = performance.now();
  // Symbols and contracts begin first. If they fail, nothing waits for them.
  const [lists, read] = await Promise.all([
    syncLists(deps),
    readSideBySide(accounts, (account) => syncOneAccount(deps, account)),
  ]);
  const reports = [
    ...read,
    ...unreachable.map(({ account, error }) => failedReport(account, error)),
  ];
  const namesOf = (isNamed: (error: unknown) => boolean) =>
    reports.filter(({ error }) => isNamed(error)).map(({ account }) => account);
  const answered = namesOf((error) => !(error instanceof DatabaseError));
  const rejected =
    answered.length === 0
      ? []
      : await countRejected(db, answered).catch((error: unknown) => ({ error }));
  const reconciled = await checkAccounts(
    deps,
    namesOf((error) => error === undefined),
  );
  const elapsedMs = performance.now() - startedAt;
  const result = syncResult({
    ...{ runId, lists, notSynced, accounts: reports, rejected, reconciled, elapsedMs },
  });
  reporter.end(result);
  return { ...result, counts: countsOf(result) };
}

/**
 * Checks what changed in these accounts, one after the other, as `reconcile` does. A sync that was stopped leaves it
 * to the next one.
 */
async function checkAccounts(
  deps: Pick<SyncDeps, "db" | "reconcile" | "signal"> & {
    readonly reporter: Pick<Reporter, "warn" | "step">;
  },
  accounts: readonly string[],
): Promise<SyncRun["reconciled"]> {
  const { db, reconcile: isChecked, signal, reporter } = deps;
  if (!isChecked || signal.aborted || accounts.length === 0) return undefined;
  const opened: Break[] = [];
  const counts = { isFull: false, chains: 0, breaks: 0 };
  try {
    await loggedRun({ db, notice: reporter.warn }, "reconcile", async () => {
      reporter.step("checked", { planned: accounts.length });
      await analyzeGrown(db);
      for (const account of accounts) {
        signal.throwIfAborted();
        const before = await readBreaks(db, { accounts: [account], productTypes: undefined });
        const idsBefore = new Set(before.map(({ breakId }) => breakId));
        const { breaks, chains } = await reconcileAccount(db, account, { isFull: false });
        opened.push(...breaks.filter(({ breakId }) => !idsBefore.has(breakId)));
        counts.breaks += breaks.length;
        counts.chains += chains.length;
        reporter.step("checked", { done: 1 });
      }
      return { counts, errors: [], isIncomplete: counts.breaks > 0, didWork: true };
    });
    return { open: counts.breaks, opened };
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
  const { config, signal, reporter, access, targets } = deps;
  const account = await withCredentials(configured, signal).catch((error: unknown) => ({ error }));
  if ("error" in account) return failedReport(configured.name, account.error);
  const exchange = exchangeOf(config, account, access);
  const recoverFrom = recoverFromOf(config, exchange.exchangeNow());
  return syncAccount(
    {
      exchangeOf: () => exchange,
      takeLease: () => hold(deps, account, exchange),
      settleLagMs: config.settleLagMs,
      recoverFrom: targets.has("bills") ? recoverFrom : undefined,
      sleep: access.clock.sleep,
      signal,
      onProgress: reporter.progress,
      onFailure: noticeFailure(reporter.notice, account.name),
      onRecover(types, wantedMs) {
        reporter.notice(
          `${account.name}: older bills of ${types.join(", ")} come from tax records, at a request a second`,
        );
        reporter.step("recovered", { planned: wantedMs });
      },
      onRecovered: (ms) => reporter.step("recovered", { done: ms }),
    },
    account,
  );
}

/** The oldest time that is wanted of tax records. None is wanted from now on: a sync then forgets what it noted of them. */
export const recoverFromOf = (
  { recoverFrom }: Pick<Config, "recoverFrom">,
  now: EpochMs,
): EpochMs => (recoverFrom === "none" ? now : (recoverFrom ?? epochMs(now - recoverDefaultMs)));

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
