import type pg from "pg";
import { dayMs, epochMs, secondMs } from "../../src/contract/time.ts";
import type { AccountReport } from "../../src/sync/run.ts";
import { checkAsked, checkCommitted, checkRun, checkTables, lookAtPlan } from "./checks.ts";
import type { History, ProcessFault, Step } from "./history.ts";
import { startProcess } from "./process.ts";
import type { Run } from "./run-record.ts";
import { type SyncProcess, startSync } from "./sync-process.ts";
import { emptyTables, readTables, type Tables } from "./tables.ts";
import type { Broken, PromiseName } from "./verdicts.ts";
import { accountName, historyStart, openWorld, type World } from "./world.ts";

export type HistoryResult = {
  readonly seed: number;
  readonly broken: readonly Broken[];
  readonly checked: Readonly<Record<PromiseName, number>>;
  /** Of all requests, statements, answers and rows: equal where two plays were. */
  readonly digest: string;
  readonly runs: number;
  readonly requests: number;
  readonly bills: number;
  readonly simulatedMs: number;
  /** Those that struck, by kind. */
  readonly faults: Readonly<Record<string, number>>;
};

const lastSteps: readonly Step[] = [20 * secondMs, 3 * secondMs].map((passMs) => ({
  passMs,
  aheadMs: 0,
  recent: [],
  exchange: [],
  database: [],
  process: [],
}));

/** Plays a history on empty tables: its steps, then two runs in which nothing goes wrong. */
export async function play(history: History, pool: pg.Pool): Promise<HistoryResult> {
  await emptyTables(pool);
  const world = openWorld(history, pool);
  let tables = await readTables(pool, accountName);
  let runs = 0;
  for (const step of [...history.steps, ...lastSteps]) {
    const done = await playStep(world, step, runs);
    const after = await readTables(pool, accountName);
    for (const run of done) checkRun(world, run, tables, after);
    checkTables(world, tables, after);
    runs += done.length;
    tables = after;
    if (world.verdicts.broken.length > 0) break;
  }
  return resultOf(world, tables, runs);
}

/** What a run that never ends is given up after: retries of 30 s end long before. */
const runMaxMs = 30 * dayMs;

async function playStep(world: World, step: Step, runsBefore: number): Promise<readonly Run[]> {
  const { time, ledger } = world;
  // What was there to be read by the runs before stays as it was.
  const since = runsBefore === 0 ? 0 : time.now();
  await time.run(time.clock.sleep(step.passMs));
  ledger.addRecent(since, time.now(), step.recent);
  world.committed.forgetTouched();
  world.schedule(step.exchange);
  const faultsBefore = strikes(world);
  const runs: Run[] = [];
  const giveUp = time.clock.sleep(runMaxMs).then(() => {
    throw new Error(`a run did not end within ${runMaxMs / dayMs} days of exchange time`);
  });
  giveUp.catch(() => undefined);
  const pending: Promise<unknown>[] = [];
  const start = (faults: readonly ProcessFault[], database: Step["database"]): void => {
    const name = `run ${runsBefore + runs.length + 1}`;
    const { run, ended } = startRun(
      world,
      { name, isFirst: runs.length === 0 },
      { ...step, process: faults, database },
      onFault,
    );
    for (const earlier of runs) if (earlier.report === undefined) earlier.isFaultless = false;
    runs.push(run);
    pending.push(ended);
  };
  const onFault = (fault: ProcessFault, sync: () => SyncProcess, thaw: () => void): void => {
    world.strike(`process: ${fault.kind}`);
    if (fault.kind === "second") void later(0, () => start([], []));
    if (fault.kind === "suspend") void later(fault.forMs, thaw);
    if (fault.kind === "freeze") freeze(fault.forMs, sync, thaw);
  };
  const freeze = (forMs: number, sync: () => SyncProcess, thaw: () => void): void => {
    void later(secondMs, () => {
      if (!sync().database.isInTransaction) return start([], []);
      // The server ends a transaction in which nothing is said for 15 s.
      if (forMs <= idleMaxMs) return;
      void later(idleMaxMs - secondMs, () => {
        sync().database.closeAll();
        start([], []);
      });
    });
    void later(forMs, thaw);
  };
  const later = (ms: number, act: () => void) => {
    const done = time.clock.sleep(ms).then(act);
    pending.push(done);
    return done;
  };
  start(step.process, step.database);
  await time.run(Promise.race([allOf(pending), giveUp]));
  for (const run of runs) run.isFaultless &&= strikes(world) === faultsBefore;
  return runs;
}

const idleMaxMs = 15 * secondMs;

/** Those that are added while it waits, too. */
async function allOf(pending: readonly Promise<unknown>[]): Promise<void> {
  for (let index = 0; index < pending.length; index++) await pending[index];
}

const strikes = ({ faults }: World): number => [...faults.values()].reduce((a, b) => a + b, 0);

type OnFault = (fault: ProcessFault, sync: () => SyncProcess, thaw: () => void) => void;

function startRun(
  world: World,
  { name, isFirst }: Pick<Run, "name" | "isFirst">,
  step: Step,
  onFault: OnFault,
) {
  const { time, pool, io, sandbox, wayMs, history } = world;
  const run: Run = {
    name,
    isFirst,
    beganAt: time.now(),
    endedAt: Number.NaN,
    report: undefined,
    isFaultless: true,
    isOvertaken: false,
    planFaults: [],
    pages: [],
  };
  const process = startProcess({
    time,
    aheadMs: step.aheadMs,
    faults: step.process,
    onFault: (fault) => {
      world.trace(`${time.now()} ${name}: ${fault.kind}`);
      onFault(fault, () => sync, process.thaw);
    },
  });
  const sync = startSync({
    process,
    sandbox,
    time,
    pool,
    io,
    wayMs,
    productTypes: history.ledger.productTypes,
    seed: `${history.seed} ${name}`,
    faults: step.database,
    onDatabaseFault: ({ of, kind }) => {
      world.trace(`${time.now()} ${name}: ${of} ${kind}`);
      world.strike(`database: ${of} ${kind}`);
    },
    events: {
      trace: world.trace,
      onHeld: (epoch) => world.overtake(run, epoch),
      onRequest: (behind) => checkAsked(world, run, behind),
      onPage: (page) => void run.pages.push(page),
      onPlan: ({ plan }) => lookAtPlan(world, run, plan),
      onCommit: (write) => checkCommitted(world, run, write),
    },
  });
  const ended = sync.ended.then((report) => {
    run.report = report;
    run.endedAt = time.now();
    world.trace(`${time.now()} ${name}: ${describeReport(report)}`);
  });
  return { run, ended };
}

function describeReport(report: AccountReport | "killed"): string {
  if (report === "killed") return report;
  const { streams, error } = report;
  return (
    JSON.stringify(streams.map((stream) => ({ ...stream, error: String(stream.error) }))) + error
  );
}

function resultOf(world: World, tables: Tables, runs: number): HistoryResult {
  const { sandbox, verdicts, faults, history, time } = world;
  const rows = Object.values(tables).flatMap(({ bills }) => bills);
  world.trace(JSON.stringify(tables, (key, value) => (key === "version" ? undefined : value)));
  return {
    seed: history.seed,
    broken: verdicts.broken,
    checked: verdicts.checked,
    digest: world.digest(),
    runs,
    requests: sandbox.statistics().arrivals["account bills"] ?? 0,
    bills: rows.length,
    simulatedMs: epochMs(time.now() - historyStart),
    faults: Object.fromEntries([...faults].toSorted()),
  };
}
