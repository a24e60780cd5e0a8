import { type EpochMs, isoTime, minuteMs } from "../../src/contract/time.ts";
import { checkLease } from "../../src/db/lease/lease.ts";
import { Leases } from "../../src/db/lease/leases.ts";
import { AccountKey } from "../../src/ledger/account-key.ts";
import { openStore } from "../../src/ledger/ledger-store.ts";
import { horizonAt } from "../../src/sync/plan.ts";
import { type AccountReport, syncAccount } from "../../src/sync/run.ts";
import type { LeasedAccount, Store } from "../../src/sync/store.ts";
import type { Write } from "./committed.ts";
import type { ProcessDatabase, Statements } from "./database.ts";
import type { NetworkEvents } from "./network.ts";
import { credentialsOf, type OutsideOptions, outsideOf } from "./outside.ts";

export const settleLagMs = 10 * minuteMs;

export type SyncProcessOptions = OutsideOptions & {
  /** Whether the key is taken without a proof. */
  readonly isTrusted: boolean;
  /** The oldest time that is wanted of tax records. */
  readonly recoverFrom: EpochMs | undefined;
  readonly events: NetworkEvents & {
    readonly onHeld: (epoch: number) => void;
    /** Called before the plan is recorded; the database's time stands still meanwhile. */
    readonly onPlan: (write: Write & { kind: "plan" }) => Promise<void>;
    /** Called when the server has committed a write. */
    readonly onCommit: (write: Write) => void;
  };
};

export type SyncProcess = {
  readonly database: ProcessDatabase;
  /** The report, or "killed". */
  readonly ended: Promise<AccountReport | "killed">;
};

/** Starts the real sync of the sandbox's account in a simulated process. */
export function startSync(options: SyncProcessOptions): SyncProcess {
  const { process, sandbox, events } = options;
  const writes: Write[] = [];
  const { database, exchange } = outsideOf(options, {
    ...events,
    onCommit(statements) {
      const written = committedOf(writes, statements);
      if (written.length === 0) throw new Error("the server committed what nobody wrote");
      for (const write of written) events.onCommit(write);
    },
  });
  const db = database.asDatabase();
  const { key = "own" } = options;
  const account = { name: key === "twice" ? "twice" : sandbox.account.name };
  const hold = async (): Promise<LeasedAccount & AsyncDisposable> => {
    const { clock, signal } = process;
    const named = { account: account.name, key: credentialsOf(sandbox, key).key };
    const accountKey = new AccountKey(db, named, { isTrusted: options.isTrusted });
    await accountKey.refuseTaken();
    const lease = await new Leases(db, { clock }).take(account.name, { signal });
    events.onHeld(lease.epoch);
    const store = watched(openStore(db, lease), writes, events.onPlan);
    return {
      ...lease,
      store,
      async takeKey(answer) {
        await accountKey.check(answer);
        const horizon = horizonAt(exchange.exchangeNow());
        await noted(writes, { kind: "key" }, () =>
          accountKey.take((tx) => checkLease(tx, lease), horizon),
        );
      },
    };
  };
  const sync = syncAccount(
    {
      exchangeOf: () => exchange,
      takeLease: hold,
      settleLagMs,
      recoverFrom: options.recoverFrom,
      sleep: process.clock.sleep,
      signal: process.signal,
      onProgress: () => undefined,
      onFailure: () => undefined,
    },
    { name: account.name, productTypes: options.productTypes },
  );
  return { database, ended: Promise.race([sync, process.died.then(() => "killed" as const)]) };
}

/**
 * Which of the pending writes a transaction had, found by the values of its statements. Waiting
 * pages of different windows go together; any other write goes alone, in the order of the requests.
 */
function committedOf(writes: readonly Write[], statements: Statements): readonly Write[] {
  const [first] = writes;
  if (first === undefined || first.kind !== "page") return writes.slice(0, 1);
  const windows = new Set(statements.flatMap(windowsOf));
  return writes.filter((write) => {
    if (write.kind !== "page") return false;
    const { ledger, window } = write.page;
    return windows.has([ledger.productType, isoTime(window.from), isoTime(window.to)].join(" "));
  });
}

/** The windows that a statement names in its columns. */
function windowsOf(values: readonly unknown[]): readonly string[] {
  const columns = values.flatMap((value) =>
    typeof value === "string" && value.startsWith("{") ? [value.slice(1, -1).split(",")] : [],
  );
  const [productTypes = [], starts = [], ends = []] = columns.map((column) =>
    column.map((element) => element.replaceAll('"', "")),
  );
  return productTypes.map((name, row) => [name, starts[row], ends[row]].join(" "));
}

/** A write is among those under way from its request until it is over. */
async function noted<T>(writes: Write[], write: Write, act: () => Promise<T>): Promise<T> {
  writes.push(write);
  try {
    return await act();
  } finally {
    writes.splice(writes.indexOf(write), 1);
  }
}

/** The store. Each write is recorded from its request until it is over. */
function watched(
  store: Store,
  writes: Write[],
  onPlan: SyncProcessOptions["events"]["onPlan"],
): Store {
  const note = <T>(write: Write, act: () => Promise<T>) => noted(writes, write, act);
  return {
    ...store,
    async recordPlan(plan) {
      const write = { kind: "plan", plan } as const;
      await onPlan(write);
      return note(write, () => store.recordPlan(plan));
    },
    commitPage: (page) => note({ kind: "page", page }, () => store.commitPage(page)),
    closeLedgersOfOtherMode: (mode, at) =>
      note({ kind: "mode", mode }, () => store.closeLedgersOfOtherMode(mode, at)),
    recordAvailability: (given) =>
      note({ kind: "availability" }, () => store.recordAvailability(given)),
    recordTaxComparison: (...given) =>
      note({ kind: "history" }, () => store.recordTaxComparison(...given)),
    commitRecovered: (given) => note({ kind: "history" }, () => store.commitRecovered(given)),
    commitBalances: (given) => note({ kind: "balances" }, () => store.commitBalances(given)),
    recordBalancesRefused: (at) =>
      note({ kind: "balances" }, () => store.recordBalancesRefused(at)),
  };
}
