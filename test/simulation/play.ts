import type pg from "pg";
import { dayMs, epochMs, hourMs, secondMs } from "../../src/lib/time.ts";
import type { LedgerBill } from "../../src/wings/sandbox/entry.ts";
import { keyOf } from "./account.ts";
import { checkRun, checkTables } from "./checks.ts";
import { checkHealed, healAlone } from "./heal.ts";
import type { History, ProcessFault, Step } from "./history.ts";
import type { OnFault } from "./outside.ts";
import { isFiltered, isOldestFirst } from "./row-checks.ts";
import { type Run, startRun } from "./sync.ts";
import { emptyTables, linesOf, readTables, type Tables } from "./tables.ts";
import { checkFindings, checkVerified, startVerification, type Verification } from "./verify.ts";
import { accountName, historyStart, openWorld, requestsForBills, type World } from "./world.ts";

export type HistoryResult = ReturnType<typeof resultOf>;

// Long enough that the longest maintenance is over before the first of them, and that what was read again in vain is due.
const lastStepsOf = ({ healing }: History): readonly Step[] =>
  [healing === undefined ? hourMs : dayMs + hourMs, 3 * secondMs].map((passMs) => ({
    passMs,
    aheadMs: 0,
    recent: [],
    exchange: [],
    database: [],
    process: [],
  }));

/** The second one checks the first one, in the last days, where it had most to do. */
const lastVerifications = [
  { name: "the last repair", days: 120 },
  { name: "a look at it", days: 8 },
];

/**
 * Plays a history on empty tables: its steps, then two runs without faults, then two verifications
 * of everything that the exchange still has.
 * @param onTrace called with each request, answer, fault, commit and report, then with each row.
 */
export async function play(
  history: History,
  pool: pg.Pool,
  onTrace?: (line: string) => void,
): Promise<HistoryResult> {
  await emptyTables(pool);
  const world = openWorld(history, pool, onTrace);
  let tables = await read(world);
  let runs = 0;
  const lastSteps = lastStepsOf(history);
  try {
    for (const step of [...history.steps, ...lastSteps]) {
      if (step === lastSteps[0]) world.forgetSchedule();
      const done = await playStep(world, step, runs);
      const after = await read(world);
      for (const run of done.runs) checkRun(world, run, tables, after);
      for (const verification of done.verifications) checkVerified(world, verification, after);
      checkTables(world, tables, after);
      runs += done.runs.length;
      tables = history.healing === undefined ? after : await healed(world, after);
      if (world.verdicts.broken.length > 0) return resultOf(world, tables, runs);
    }
    if (history.healing !== undefined) checkHealed(world, tables);
    for (const options of lastVerifications) tables = await verifyAlone(world, options, tables);
  } catch (error) {
    // A history that cannot be played to its end breaks the promise that runs end.
    const what = error instanceof Error ? String(error.stack) : String(error);
    world.verdicts.check("faults pass", 1, [what]);
  }
  return resultOf(world, tables, runs);
}

/** The check that ends a sync. */
async function healed(world: World, before: Tables): Promise<Tables> {
  world.committed.forgetTouched();
  await healAlone(world);
  const after = await read(world);
  checkTables(world, before, after);
  return after;
}

/** After what is under way at the server: a killed process may have sent its last commit. */
const read = ({ io, pool }: World): Promise<Tables> => io(() => readTables(pool, accountName));

/** A run that has not ended by then is given up: retries of 30 s end long before. */
const runMaxMs = 30 * dayMs;

/** What ran in a step. */
type Played = { readonly runs: readonly Run[]; readonly verifications: readonly Verification[] };

/** Lets time pass, then runs a sync, and whatever its faults start beside it. */
async function playStep(world: World, step: Step, runsBefore: number): Promise<Played> {
  const { time, ledger } = world;
  // What earlier runs could read must not change.
  const since = runsBefore === 0 ? 0 : time.now();
  await time.run(time.clock.sleep(step.passMs));
  ledger.isVerified = false;
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
  const { key, isForeign } = await keyOf(world, step.key ?? "own");
  if (key !== "own") {
    const kind = `key: ${key}${isForeign ? ", to be refused" : ""}`;
    world.faults.set(kind, (world.faults.get(kind) ?? 0) + 1);
  }
  const start = (faults: readonly ProcessFault[], database: Step["database"]): void => {
    const name = `run ${runsBefore + runs.length + 1}`;
    const { run, ended } = startRun(
      world,
      { name, isAlone: runs.length === 0, key, isForeign },
      { ...step, process: faults, database },
      onFault,
    );
    for (const earlier of runs) {
      earlier.isAlone = false;
      if (earlier.report === undefined) earlier.isFaultless = false;
    }
    runs.push(run);
    pending.push(ended);
  };
  const verify = ({ days, process }: Extract<ProcessFault, { kind: "verify" }>): void => {
    // While it changes from one mode to the other, or is another user's, there is nothing to verify.
    if (world.account.modeAt(time.now()) === undefined || world.owner() !== "own") return;
    const name = `verification ${verifications.length + 1} beside ${runs[0]?.name}`;
    const options = { name, days, aheadMs: step.aheadMs, faults: process };
    const { verification, ended } = startVerification(world, options, onFault);
    verifications.push(verification);
    pending.push(ended);
  };
  let isOver = false;
  const onFault: OnFault = (fault, struck) => {
    // By the answer to a question of a run that has failed meanwhile.
    if (isOver) return later(0, () => struck.process.thaw());
    world.strike(`process: ${fault.kind}`);
    if (fault.kind === "second") later(0, () => start([], []));
    if (fault.kind === "verify") later(0, () => verify(fault));
    if (fault.kind === "freeze") later(secondMs, () => start([], []));
    if (fault.kind !== "suspend" && fault.kind !== "freeze") return;
    // The server ends a transaction that is idle for 15 s.
    if (fault.forMs > idleMaxMs) later(idleMaxMs, () => struck.database.closeIdle());
    later(fault.forMs, () => struck.process.thaw());
  };
  const later = (ms: number, act: () => void): void => {
    pending.push(time.clock.sleep(ms).then(act));
  };
  start(step.process, step.database);
  await time.run(Promise.race([allOf(pending), giveUp]));
  isOver = true;
  // Of these pages, a run reads all, or says why it does not.
  const isUnreadable = isOldestFirst(world.history) || isFiltered(world.history);
  for (const run of runs) {
    const isSteady = world.account.isSteady(run.beganAt, run.endedAt);
    run.isFaultless &&= isSteady && !isUnreadable && world.strikes() === strikesBefore;
  }
  return { runs, verifications };
}

const idleMaxMs = 15 * secondMs;

/** Including those that are added while this waits. */
async function allOf(pending: readonly Promise<unknown>[]): Promise<void> {
  for (let index = 0; index < pending.length; index++) await pending[index];
}

async function verifyAlone(
  world: World,
  { name, days }: (typeof lastVerifications)[number],
  before: Tables,
): Promise<Tables> {
  const { time, history } = world;
  await time.run(time.clock.sleep(3 * secondMs));
  world.committed.forgetTouched();
  const options = { name, days, aheadMs: 0, faults: [] };
  const { verification, ended } = startVerification(world, options, () => undefined);
  await time.run(ended);
  const after = await read(world);
  // Of pages that hide where they end, a verification may call a bill unknown.
  if (!isOldestFirst(history) && !isFiltered(history)) checkFindings(world, verification, before);
  checkVerified(world, verification, after);
  checkTables(world, before, after);
  return after;
}

function resultOf(world: World, tables: Tables, runs: number) {
  const { sandbox, verdicts, faults, history, time } = world;
  const rows = Object.values(tables).flatMap(({ bills }) => bills);
  for (const line of linesOf(tables)) world.trace(line);
  return {
    seed: history.seed,
    broken: verdicts.broken,
    checked: verdicts.checked,
    /** Of all requests, answers, faults, commits and rows: two equal plays have the same. */
    digest: world.digest(),
    runs,
    requests: requestsForBills(sandbox),
    bills: rows.length,
    simulatedMs: epochMs(time.now() - historyStart),
    /** The faults that struck, by kind. */
    faults: { ...Object.fromEntries(faults), ...ledgerFaults(world, tables) },
  };
}

/** The parts of the ledger that are hard to copy, as far as the exchange ever served them. */
function ledgerFaults(
  { account, ledger, time }: World,
  tables: Tables,
): Readonly<Record<string, number>> {
  const { productTypes } = account;
  const bills = productTypes
    .flatMap((productType) => ledger.bills(productType))
    .filter(({ visibleAt }) => visibleAt <= time.now());
  const countOf = (is: (bill: LedgerBill) => boolean): number => bills.filter(is).length;
  return {
    "ledger: late by a second or more": countOf(
      ({ cTime, visibleAt }) => visibleAt - cTime >= secondMs,
    ),
    "ledger: restated": countOf(
      ({ restated }) => restated !== undefined && restated.at <= time.now(),
    ),
    "ledger: broken row": countOf(({ broken }) => broken !== undefined),
    "ledger: gone before it was read": productTypes
      .flatMap((productType) => tables[productType].spans)
      .filter(({ state }) => state === "lost").length,
  };
}
