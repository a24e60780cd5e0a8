import { listed, readRoster, type Selection } from "./accounts/roster.ts";

// What other programs import. It reads no environment, ends no process and prints nothing.

import { type Config, readConfig } from "./accounts/config.ts";
import type { Settings } from "./accounts/settings.ts";
import type { ExportedBill } from "./books/export/exported-bill.ts";
import { readBills } from "./books/export/read-bills.ts";
import { readStatus, type Status } from "./check/health/ledger-status.ts";
import { type Reconciliation, reconcile as reconcileLedgers } from "./check/reconcile/reconcile.ts";
import { type CommandDatabase, openCommandDatabase } from "./commands/open.ts";
import { runSync } from "./commands/sync.ts";
import type { SyncResult } from "./commands/sync-result.ts";
import { isOfAccounts, type Target, targetsOf } from "./commands/sync-targets.ts";
import { readSpan, runVerification, type Verification } from "./commands/verify.ts";
import type { ProductType } from "./core/contract/product-types.ts";
import { inSnapshot } from "./core/postgres/connect.ts";
import { migrate } from "./core/store/migrate.ts";
import type { BillsProgress } from "./core/sync/ledger-run.ts";
import { StoppedError } from "./lib/errors.ts";
import { epochMs } from "./lib/time.ts";
import { wings } from "./program.ts";

export type { Settings } from "./accounts/settings.ts";
export type { ProductType } from "./core/contract/product-types.ts";
export { productTypes } from "./core/contract/product-types.ts";
export {
  AccountHeldError,
  DatabaseError,
  ExchangeError,
  ReportableError,
  StoppedError,
  UsageError,
} from "./lib/errors.ts";
export type {
  BillsProgress,
  ExportedBill,
  Reconciliation,
  Status,
  SyncResult,
  Target,
  Verification,
};

export type LedgerOptions = {
  /** Called with what a person should know: a migration that was applied, a request that failed. */
  readonly onNotice?: (message: string) => void;
};

/** Selects ledgers. An omitted field selects all. */
export type LedgerSelection = {
  readonly accounts?: readonly string[] | undefined;
  readonly productTypes?: readonly ProductType[] | undefined;
};

export type Stoppable = {
  /** Ends the work after the pages in hand. What is stored by then stays. */
  readonly signal?: AbortSignal | undefined;
};

export type SyncOptions = LedgerSelection &
  Stoppable & {
    /** Default all. */
    readonly only?: readonly Target[] | undefined;
    /**
     * Takes a key without proof that it belongs to the account, forgets earlier keys, and reads the last 90 days again.
     * Default false.
     */
    readonly trustKey?: boolean | undefined;
    /** Ends with a check of what changed. Default true. */
    readonly reconcile?: boolean | undefined;
    readonly onProgress?: ((progress: BillsProgress) => void) | undefined;
  };

export type VerifyOptions = LedgerSelection &
  Stoppable & {
    /** A text is ISO 8601; a date alone is its midnight in UTC. */
    readonly from: Date | string;
    /** Exclusive. */
    readonly to: Date | string;
    /** Writes what differs. Default false. */
    readonly repair?: boolean | undefined;
  };

export type BillsOptions = LedgerSelection &
  Stoppable & {
    readonly from?: Date | undefined;
    /** Exclusive. */
    readonly to?: Date | undefined;
  };

/** The stored ledgers, and the exchange that they are read from. */
export type Ledgers = AsyncDisposable & {
  /** Brings everything up to now. Failures are in the result, whose `outcome` is not "complete" then. */
  sync(options?: SyncOptions): Promise<SyncResult>;
  /** Each ledger's bills and its read, unread and lost time. Asks the exchange nothing. */
  status(which?: LedgerSelection): Promise<Status>;
  /** Reads a span again and compares it with what is stored. */
  verify(options: VerifyOptions): Promise<Verification & Pick<SyncResult, "outcome">>;
  /** Checks that the bills add up; `breaks` are where they do not. */
  reconcile(options?: LedgerSelection & { readonly full?: boolean }): Promise<Reconciliation>;
  /**
   * The stored bills of one moment, by account, wallet and time, and within a millisecond by id. Amounts are text, as the
   * database has them, to the last digit; times are milliseconds since the Unix epoch.
   */
  bills(options?: BillsOptions): AsyncIterable<ExportedBill>;
};

/**
 * Opens the ledgers of a database, that of `DATABASE_URL`, or the embedded one under `DATA_DIR`, brought to
 * this version's tables. A key is needed by `sync` and `verify` alone.
 *
 * @param settings by the names of the variables of the command line; nothing else is read.
 * @throws UsageError for settings that are wrong; DatabaseError with the remedy.
 */
export async function openLedgers(
  settings: Settings,
  { onNotice = () => undefined }: LedgerOptions = {},
): Promise<Ledgers> {
  const config = readConfig(settings, { credentials: false });
  config.warnings.forEach(onNotice);
  await using stack = new AsyncDisposableStack();
  const database = stack.use(
    await openCommandDatabase(config.database, { notify: onNotice, wings }),
  );
  await migrate(database.db);
  const at = { settings, config, database, onNotice };
  const resources = stack.move();
  return {
    sync: (options = {}) => sync(at, options),
    status: async (which = {}) => readStatus(database.db, await ledgersOf(at, which)),
    verify: (options) => verify(at, options),
    reconcile: async ({ full = false, ...which } = {}) => {
      await ledgersOf(at, which);
      return reconcileLedgers(database.db, selectionOf(which), { isFull: full });
    },
    bills: (options = {}) => bills(at, options),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

type LibraryContext = {
  readonly settings: Settings;
  readonly config: Config;
  readonly database: CommandDatabase;
  readonly onNotice: (message: string) => void;
};

async function sync(at: LibraryContext, options: SyncOptions): Promise<SyncResult> {
  const { database, onNotice } = at;
  const { trustKey, reconcile } = options;
  const targets = targetsOf(options.only);
  const config = readConfig(at.settings, { credentials: isOfAccounts(targets) });
  const reporter = {
    progress: options.onProgress ?? (() => undefined),
    step: () => undefined,
    notice: onNotice,
    warn: onNotice,
    end: () => undefined,
    [Symbol.dispose]: () => undefined,
  };
  using stop = stopOn(options.signal);
  const shared = { database, reporter, wings, targets, trustKey, selection: selectionOf(options) };
  return await runSync(config, { ...shared, signal: stop.signal, reconcile });
}

async function verify(at: LibraryContext, options: VerifyOptions) {
  const { database, onNotice: notice } = at;
  const typed = { from: timeAsTyped(options.from), to: timeAsTyped(options.to) };
  const span = readSpan(typed);
  using stop = stopOn(options.signal);
  const { repair = false } = options;
  const config = readConfig(at.settings, { credentials: true });
  const selection = selectionOf(options);
  const deps = { notice, signal: stop.signal, span, selection, repair };
  return await runVerification(config, database, deps);
}

/** An invalid date is passed on as text, so that `readSpan` can quote it in its error. */
const timeAsTyped = (time: Date | string): string =>
  typeof time === "string" || Number.isNaN(time.getTime()) ? String(time) : time.toISOString();

async function* bills(at: LibraryContext, options: BillsOptions): AsyncGenerator<ExportedBill> {
  await ledgersOf(at, options);
  const msOf = (date: Date | undefined) =>
    date === undefined ? undefined : epochMs(date.getTime());
  const selection = {
    ...selectionOf(options),
    from: msOf(options.from),
    to: msOf(options.to),
  };
  using stop = stopOn(options.signal);
  const { readable, writable } = new TransformStream<readonly ExportedBill[]>();
  const writer = writable.getWriter();
  const reading = inSnapshot(at.database.db, async (tx) => {
    // A write waits for the reader, and fails once it has gone, which ends the transaction.
    for await (const page of readBills(tx, selection)) await writer.write(page);
  });
  const ended = reading.then(
    () => writer.close(),
    (error: unknown) => writer.abort(error),
  );
  try {
    for await (const page of readable) {
      for (const bill of page) {
        stop.signal.throwIfAborted();
        yield bill;
      }
    }
  } finally {
    await Promise.allSettled([ended]);
  }
}

const selectionOf = ({ accounts, productTypes }: LedgerSelection): Selection => ({
  accounts,
  productTypes,
});

/** @throws UsageError for a name that is neither configured nor stored. */
const ledgersOf = async ({ config, database: { db } }: LibraryContext, which: LedgerSelection) =>
  listed(await readRoster(db, config, which));

/** A run that its caller aborts has not failed: it ends with a StoppedError, whatever the reason. */
function stopOn(signal: AbortSignal | undefined): Disposable & { readonly signal: AbortSignal } {
  const stop = new AbortController();
  const abort = () => stop.abort(new StoppedError("stopped on request"));
  if (signal?.aborted === true) abort();
  signal?.addEventListener("abort", abort);
  return {
    signal: stop.signal,
    [Symbol.dispose]: () => signal?.removeEventListener("abort", abort),
  };
}
