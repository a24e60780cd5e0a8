import { acceptKey, refuseKeyOfAnother } from "../../src/core/store/account-key.ts";
import { Leases } from "../../src/core/store/lease.ts";
import { type LeasedAccount, openStore, type Store } from "../../src/core/store/ledger-store.ts";
import { type AccountReport, failedReport } from "../../src/core/sync/account-report.ts";
import { syncAccount } from "../../src/core/sync/run.ts";
import type { LedgerPlan } from "../../src/core/words/ledger.ts";
import { horizonAt } from "../../src/core/words/plan.ts";
import { isoTime } from "../../src/lib/time.ts";
import { recoveryWith } from "../../src/wings/recovery/recover.ts";
import { checkAsked, checkCommitted, lookAtPlan } from "./checks.ts";
import type { Write } from "./committed.ts";
import type { Statements } from "./database.ts";
import type { KeyKind, Step } from "./history.ts";
import { credentialsOf, noted, type OnFault, openProcess, type ServedPage } from "./outside.ts";
import { settleLagMs } from "./time-checks.ts";
import { recoverFromOf, type World } from "./world.ts";

/** One sync of a history, and its result. */
export type Run = {
  readonly name: string;
  readonly key: KeyKind;
  /** Whether its key is to be refused: it is another user's, or its user has another name already. */
  readonly isForeign: boolean;
  /** Whether no other run of its step has begun, which may have read its time. */
  isAlone: boolean;
  /** The exchange's time. */
  readonly beganAt: number;
  endedAt: number;
  report: AccountReport | "killed" | undefined;
  /** Whether there were no faults around it. */
  isFaultless: boolean;
  isOvertaken: boolean;
  /** What is wrong with the plan that it is about to record. */
  readonly planFaults: Map<LedgerPlan, readonly string[]>;
  /** The pages that its walks received. */
  readonly pages: ServedPage[];
};

/** Starts the real sync in a simulated process, and checks its requests, answers and commits against the promises. */
export function startRun(
  world: World,
  given: Pick<Run, "name" | "isAlone" | "key" | "isForeign">,
  step: Step,
  onFault: OnFault,
) {
  const { time, sandbox, trace } = world;
  const { name, key } = given;
  const run: Run = {
    ...given,
    beganAt: time.now(),
    endedAt: Number.NaN,
    report: undefined,
    isFaultless: true,
    isOvertaken: false,
    planFaults: new Map(),
    pages: [],
  };
  const writes: Write[] = [];
  const proof = { isTrusted: isTrusted(world, run) };
  const { aheadMs, process: faults, database: databaseFaults } = step;
  const options = { name, key, aheadMs, faults, databaseFaults, onFault };
  const { process, database, exchange } = openProcess(world, options, {
    onRequest: (behind) => checkAsked(world, run, behind),
    onPage: (page) => void run.pages.push(page),
    onShown: ({ productType, rows }) => {
      for (const { billId } of rows) world.shown.add(`${productType} ${billId}`);
    },
    onDatabaseFault: ({ of, kind }) => {
      trace(`${time.now()} ${name}: ${of} ${kind}`);
      world.strike(`database: ${of} ${kind}`);
    },
    onCommit(statements) {
      const written = committedOf(writes, statements);
      if (written.length === 0) throw new Error("the server committed what nobody wrote");
      for (const write of written) checkCommitted(world, run, write);
    },
  });
  const { db } = database;
  const { clock, signal } = process;
  const account = key === "twice" ? "twice" : sandbox.account.name;
  const takeLease = async (): Promise<LeasedAccount & AsyncDisposable> => {
    const named = { account, key: credentialsOf(sandbox, key).key, ...proof };
    await refuseKeyOfAnother(db, named);
    const lease = await new Leases(db, { clock }).take(account, { signal });
    if (key !== "twice") world.overtake(run, lease.epoch);
    return {
      ...lease,
      store: watched(openStore(db, lease), writes, (plan) => lookAtPlan(world, run, plan)),
      async acceptKey(answer) {
        const horizon = horizonAt(exchange.exchangeNow());
        await noted(writes, { kind: "key" }, () =>
          acceptKey(db, named, answer, { lease, horizon }),
        );
      },
    };
  };
  const recoverFrom = recoverFromOf(world.history);
  const syncing = async (): Promise<AccountReport> => {
    await using leased = await takeLease();
    const deps = {
      ...{ leased, client: exchange.client, exchangeNow: exchange.exchangeNow },
      ...{ settleLagMs, signal, sleep: clock.sleep },
      recover: recoverFrom && recoveryWith({ recoverFrom }),
      onProgress: () => undefined,
      onFailure: () => undefined,
    };
    return await syncAccount(deps, { name: account, productTypes: world.account.productTypes });
  };
  const sync = syncing().catch((error: unknown) => failedReport(account, error));
  const ended = Promise.race([sync, process.died.then(() => "killed" as const)]).then((report) => {
    run.report = report;
    run.endedAt = time.now();
    trace(`${time.now()} ${name}: ${describe(report)}`);
  });
  return { run, ended };
}

function describe(report: AccountReport | "killed"): string {
  if (report === "killed") return report;
  const { ledgers, error } = report;
  return (
    JSON.stringify(ledgers.map((ledger) => ({ ...ledger, error: String(ledger.error) }))) + error
  );
}

/** Whoever notices that a wrong key was used trusts the right one; and for each new key of an untold user. */
function isTrusted({ history, owner, keyInUse }: World, { key, isForeign }: Run): boolean {
  if (isForeign || keyInUse() === undefined) return false;
  return history.isUserUntold ? key !== keyInUse() : owner() === "empty" && key !== "empty";
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

/** The store. Each write is recorded from its request until it is over; time stands still while a plan is looked at. */
function watched(
  store: Store,
  writes: Write[],
  lookAt: (plan: LedgerPlan) => Promise<void>,
): Store {
  const note = <T>(write: Write, act: () => Promise<T>) => noted(writes, write, act);
  return {
    ...store,
    async recordPlans(plans) {
      for (const plan of plans) await lookAt(plan);
      return note({ kind: "plans", plans }, () => store.recordPlans(plans));
    },
    commitPage: (page) => note({ kind: "page", page }, () => store.commitPage(page)),
    write: (work) => note({ kind: "else" }, () => store.write(work)),
  };
}
