import type pg from "pg";
import { dayMs, epochMs, hourMs, secondMs } from "../../src/contract/time.ts";
import type { AccountReport } from "../../src/sync/run.ts";
import { checkAsked, checkCommitted, checkRun, checkTables, lookAtPlan } from "./checks.ts";
import type { ProcessDatabase } from "./database.ts";
import type { History, ProcessFault, Step } from "./history.ts";
import { type SimulatedProcess, startProcess } from "./process.ts";
import type { Run, Verification } from "./run-record.ts";
import { startSync } from "./sync-process.ts";
import { emptyTables, linesOf, readTables, type Tables } from "./tables.ts";
import type { Broken, PromiseName } from "./verdicts.ts";
import { checkFindings, checkHealed, checkVerified } from "./verification-checks.ts";
import { startVerify, type VerifyOutcome } from "./verify-process.ts";
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

// Before the first of them the longest maintenance is over.
const lastSteps: readonly Step[] = [hourMs, 3 * secondMs].map((passMs) => ({
  passMs,
  aheadMs: 0,
  recent: [],
  exchange: [],
  database: [],
  process: [],
}));

/** The second one looks at what the first one did, where most of it was: in the last days. */
const lastVerifications = [
  { name: "the last repair", days: 120 },
  { name: "a look at it", days: 8 },
];

// Of all processes together. With the 4 that one has, histories whose frozen processes held them
// all waited ten real seconds for another.
const connectionsMax = 20;

/**
 * Plays a history on empty tables: its steps, then two runs in which nothing goes wrong, then two
 * verifications of all that the exchange still has.
 * @param onTrace told of each request, answer, fault, commit and report, then of each row.
 */
export async function play(
  history: History,
  pool: pg.Pool,
  onTrace?: (line: string) => void,
): Promise<HistoryResult> {
  pool.options.max = connectionsMax;
  await emptyTables(pool);
  const world = openWorld(history, pool, onTrace);
  const { verdicts } = world;
  let tables = await readTables(pool, accountName);
  let runs = 0;
  for (const step of [...history.steps, ...lastSteps]) {
    if (step === lastSteps[0]) world.forgetSchedule();
    const done = await playStep(world, step, runs);
    const after = await readTables(pool, accountName);
    for (const run of done.runs) checkRun(world, run, tables, after);
    for (const verification of done.verifications) checkVerified(world, verification, after);
    checkTables(world, tables, after);
    runs += done.runs.length;
    tables = after;
    if (verdicts.broken.length > 0) return resultOf(world, tables, runs);
  }
  for (const options of lastVerifications) {
    const verification = await verifyAlone(world, options);
    const after = await readTables(pool, accountName);
    checkFindings(world, verification, tables);
    checkVerified(world, verification, after);
    checkTables(world, tables, after);
    tables = after;
  }
  return resultOf(world, tables, runs);
}

async function verifyAlone(
  world: World,
  { name, days }: (typeof lastVerifications)[number],
): Promise<Verification> {
  const { time } = world;
  await time.run(time.clock.sleep(3 * secondMs));
  world.committed.forgetTouched();
  const options = { name, days, aheadMs: 0, faults: [] };
  const { verification, ended } = startVerification(world, options, () => undefined);
  await time.run(ended);
  return verification;
}

/** What a run that never ends is given up after: retries of 30 s end long before. */
const runMaxMs = 30 * dayMs;

/** What ran in a step. */
type Played = { readonly runs: readonly Run[]; readonly verifications: readonly Verification[] };

async function playStep(world: World, step: Step, runsBefore: number): Promise<Played> {
  const { time, ledger } = world;
  // What was there to be read by the runs before stays as it was.
  const since = runsBefore === 0 ? 0 : time.now();
  await time.run(time.clock.sleep(step.passMs));
  ledger.addRecent(since, time.now(), step.recent);
  world.committed.forgetTouched();
  world.schedule(step.exchange);
  const strikesBefore = world.strikes();
  const runs: Run[] = [];
  const verifications: Verification[] = [];
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
  const verify = ({ days, process }: Extract<ProcessFault, { kind: "verify" }>): void => {
    const name = `verification ${verifications.length + 1} beside ${runs[0]?.name}`;
    const options = { name, days, aheadMs: step.aheadMs, faults: process };
    const { verification, ended } = startVerification(world, options, onFault);
    verifications.push(verification);
    pending.push(ended);
  };
  const onFault: OnFault = (fault, struck) => {
    world.strike(`process: ${fault.kind}`);
    if (fault.kind === "second") later(0, () => start([], []));
    if (fault.kind === "verify") later(0, () => verify(fault));
    if (fault.kind === "freeze") later(secondMs, () => start([], []));
    if (fault.kind !== "suspend" && fault.kind !== "freeze") return;
    // The server ends a transaction in which nothing is said for 15 s.
    if (fault.forMs > idleMaxMs) later(idleMaxMs, () => struck().database.closeIdle());
    later(fault.forMs, () => struck().process.thaw());
  };
  const later = (ms: number, act: () => void): void => {
    pending.push(time.clock.sleep(ms).then(act));
  };
  start(step.process, step.database);
  await time.run(Promise.race([allOf(pending), giveUp]));
  for (const run of runs) run.isFaultless &&= world.strikes() === strikesBefore;
  return { runs, verifications };
}

const idleMaxMs = 15 * secondMs;

/** Those that are added while it waits, too. */
async function allOf(pending: readonly Promise<unknown>[]): Promise<void> {
  for (let index = 0; index < pending.length; index++) await pending[index];
}

/** Told of a fault, and of what it struck. */
type OnFault = (fault: ProcessFault, struck: () => Struck) => void;
type Struck = { readonly process: SimulatedProcess; readonly database: ProcessDatabase };

/** A process with its faults, and all that it shares with the others of its world. */
function openProcess(
  world: World,
  { name, aheadMs, faults }: Pick<Step, "aheadMs"> & { name: string; faults: Step["process"] },
  onFault: OnFault,
  struck: () => Struck,
) {
  const { time, pool, io, transactions, sandbox, wayMs, history } = world;
  const process = startProcess({
    time,
    aheadMs,
    faults,
    onFault(fault) {
      world.trace(`${time.now()} ${name}: ${fault.kind}`);
      onFault(fault, struck);
    },
  });
  const { productTypes } = history.ledger;
  const seed = `${history.seed} ${name}`;
  return { process, sandbox, time, pool, io, transactions, wayMs, productTypes, seed };
}

function startRun(
  world: World,
  { name, isFirst }: Pick<Run, "name" | "isFirst">,
  step: Step,
  onFault: OnFault,
) {
  const { time } = world;
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
  const { aheadMs, process: faults } = step;
  const shared = openProcess(world, { name, aheadMs, faults }, onFault, () => ({
    process: shared.process,
    database: sync.database,
  }));
  const sync = startSync({
    ...shared,
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

type VerificationOptions = Pick<Step, "aheadMs"> & {
  readonly name: string;
  readonly days: number;
  readonly faults: readonly ProcessFault[];
};

function startVerification(world: World, options: VerificationOptions, onFault: OnFault) {
  const { time } = world;
  const { name, days } = options;
  const to = world.now();
  const verification: Verification = {
    name,
    beganAt: time.now(),
    span: { from: epochMs(to - days * dayMs), to },
    endedAt: Number.NaN,
    outcome: undefined,
  };
  const shared = openProcess(world, options, onFault, () => ({
    process: shared.process,
    database: verify.database,
  }));
  const verify = startVerify({
    ...shared,
    faults: [],
    onDatabaseFault: () => undefined,
    span: verification.span,
    heal: true,
    trace: world.trace,
    onHealed: (healed) => checkHealed(world, verification, healed),
  });
  const ended = verify.ended.then((outcome) => {
    verification.outcome = outcome;
    verification.endedAt = time.now();
    world.trace(`${time.now()} ${name}: ${describeOutcome(outcome)}`);
  });
  return { verification, ended };
}

const describeOutcome = (outcome: VerifyOutcome | "killed"): string =>
  outcome === "killed" ? outcome : JSON.stringify(outcome.findings) + outcome.error;

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
  for (const line of linesOf(tables)) world.trace(line);
  return {
    seed: history.seed,
    broken: verdicts.broken,
    checked: verdicts.checked,
    digest: world.digest(),
    runs,
    requests: sandbox.statistics().arrivals["account bills"] ?? 0,
    bills: rows.length,
    simulatedMs: epochMs(time.now() - historyStart),
    faults: { ...Object.fromEntries(faults), ...ledgerFaults(world, tables) },
  };
}

/** What the exchange's ledger held that is hard to copy, as far as it ever showed it. */
function ledgerFaults({ history, ledger, time }: World, tables: Tables): HistoryResult["faults"] {
  const { productTypes } = history.ledger;
  const bills = productTypes
    .flatMap((productType) => ledger.bills(productType))
    .filter(({ visibleAt }) => visibleAt <= time.now());
  const lateBy = (leastMs: number, mostMs: number) =>
    bills.filter(({ cTime, visibleAt }) => {
      const lateMs = visibleAt - cTime;
      return lateMs >= leastMs && lateMs < mostMs;
    }).length;
  return {
    "ledger: late by a second or more": lateBy(secondMs, hourMs),
    "ledger: late by an hour or more": lateBy(hourMs, 8 * dayMs),
    "ledger: late by 8 days": lateBy(8 * dayMs, Number.POSITIVE_INFINITY),
    "ledger: restated": bills.filter(
      ({ restated }) => restated !== undefined && restated.at <= time.now(),
    ).length,
    "ledger: broken row": bills.filter(({ broken }) => broken !== undefined).length,
    "ledger: gone before it was read": productTypes
      .flatMap((productType) => tables[productType].checkpoints)
      .filter(({ state }) => state === "expired").length,
  };
}
