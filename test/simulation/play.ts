import type pg from "pg";
import { dayMs, epochMs, hourMs, secondMs } from "../../src/contract/time.ts";
import { checkDays, checkRun, checkTables } from "./checks.ts";
import type { History, Step } from "./history.ts";
import type { Verification } from "./run-record.ts";
import { startVerification } from "./starts.ts";
import { hasFewRows, playStep } from "./step.ts";
import { emptyTables, linesOf, readTables, type Tables } from "./tables.ts";
import type { Broken, PromiseName } from "./verdicts.ts";
import { checkFindings, checkVerified } from "./verification-checks.ts";
import { accountName, historyStart, openWorld, requestsForBills, type World } from "./world.ts";

export type HistoryResult = {
  readonly seed: number;
  readonly broken: readonly Broken[];
  readonly checked: Readonly<Record<PromiseName, number>>;
  /**
   * The digest of all requests, statements, answers and rows: two equal plays have the same digest.
   */
  readonly digest: string;
  readonly runs: number;
  readonly requests: number;
  readonly bills: number;
  readonly simulatedMs: number;
  /** The faults that struck, by kind. */
  readonly faults: Readonly<Record<string, number>>;
};

// Long enough that the longest maintenance is over before the first of them.
const lastSteps: readonly Step[] = [hourMs, 3 * secondMs].map((passMs) => ({
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
  const { verdicts } = world;
  // After what is under way at the server: a killed process may have sent its last commit.
  const read = () => world.io(() => readTables(pool, accountName));
  let tables = await read();
  let runs = 0;
  for (const step of [...history.steps, ...lastSteps]) {
    if (step === lastSteps[0]) world.forgetSchedule();
    const done = await playStep(world, step, runs);
    const after = await read();
    for (const run of done.runs) checkRun(world, run, tables, after);
    for (const verification of done.verifications) checkVerified(world, verification, after);
    checkTables(world, tables, after);
    await checkDays(world);
    runs += done.runs.length;
    tables = after;
    if (verdicts.broken.length > 0) return resultOf(world, tables, runs);
  }
  for (const options of lastVerifications) {
    const verification = await verifyAlone(world, options);
    const after = await read();
    // Of pages that hide where they end, a verification may call a bill unknown. Pages of few rows may be refused.
    const { paging } = history.exchange.quirks;
    if (!["oldest-first", "filtered"].includes(paging?.kind ?? "") && !hasFewRows(history)) {
      checkFindings(world, verification, tables);
    }
    checkVerified(world, verification, after);
    checkTables(world, tables, after);
    tables = after;
  }
  await checkDays(world);
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
    requests: requestsForBills(sandbox),
    bills: rows.length,
    simulatedMs: epochMs(time.now() - historyStart),
    faults: { ...Object.fromEntries(faults), ...ledgerFaults(world, tables) },
  };
}

/** The parts of the ledger that are hard to copy, as far as the exchange ever served them. */
function ledgerFaults({ account, ledger, time }: World, tables: Tables): HistoryResult["faults"] {
  const { productTypes } = account;
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
      .flatMap((productType) => tables[productType].spans)
      .filter(({ state }) => state === "lost").length,
  };
}
