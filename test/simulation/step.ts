import { dayMs, secondMs } from "../../src/contract/time.ts";
import { pageRowsMin } from "../../src/sync/walk/answers.ts";
import type { ProcessFault, Step } from "./history.ts";
import { keyOf } from "./keys.ts";
import type { Run, Verification } from "./run-record.ts";
import { type OnFault, startRun, startVerification } from "./starts.ts";
import type { World } from "./world.ts";

/** A run that has not ended by then is given up: retries of 30 s end long before. */
const runMaxMs = 30 * dayMs;

/** What ran in a step. */
type Played = { readonly runs: readonly Run[]; readonly verifications: readonly Verification[] };

/** Lets time pass, then runs a sync, and whatever its faults start beside it. */
export async function playStep(world: World, step: Step, runsBefore: number): Promise<Played> {
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
    if (isOver) return later(0, () => struck().process.thaw());
    world.strike(`process: ${fault.kind}`);
    if (fault.kind === "second") later(0, () => start([], []));
    if (fault.kind === "verify") later(0, () => verify(fault));
    if (fault.kind === "freeze") later(secondMs, () => start([], []));
    if (fault.kind !== "suspend" && fault.kind !== "freeze") return;
    // The server ends a transaction that is idle for 15 s.
    if (fault.forMs > idleMaxMs) later(idleMaxMs, () => struck().database.closeIdle());
    later(fault.forMs, () => struck().process.thaw());
  };
  const later = (ms: number, act: () => void): void => {
    pending.push(time.clock.sleep(ms).then(act));
  };
  start(step.process, step.database);
  await time.run(Promise.race([allOf(pending), giveUp]));
  isOver = true;
  // Of these pages, a run reads all, or says why it does not.
  const isUnreadable = isOldestFirst(world.history) || hasFewRows(world.history);
  for (const run of runs) {
    const isSteady = world.account.isSteady(run.beganAt, run.endedAt);
    run.isFaultless &&= isSteady && !isUnreadable && world.strikes() === strikesBefore;
  }
  return { runs, verifications };
}

export const isOldestFirst = ({ exchange }: World["history"]): boolean =>
  exchange.quirks.paging?.kind === "oldest-first";

/** Whether the exchange may have more bills than a page, and pages of fewer rows than are read. */
export function hasFewRows({ exchange }: World["history"]): boolean {
  const { pageRows = Number.POSITIVE_INFINITY, paging, shortPages = false } = exchange.quirks;
  // Where ids follow each other, the row that a filtered page names is its last one.
  if (paging?.kind === "filtered") return true;
  const most = paging?.kind === "shrinking" ? Math.min(pageRows, paging.rows) : pageRows;
  return (shortPages ? Math.ceil(most / 4) : most) < pageRowsMin;
}

const idleMaxMs = 15 * secondMs;

/** Including those that are added while this waits. */
async function allOf(pending: readonly Promise<unknown>[]): Promise<void> {
  for (let index = 0; index < pending.length; index++) await pending[index];
}
