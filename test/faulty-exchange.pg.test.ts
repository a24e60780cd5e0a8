// Holds: Honest coverage
// Each kind of fault: in whole runs, and in the client over a real connection.

import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { accountBills } from "../src/contract/account-bills.ts";
import { hourMs, minuteMs, retentionMs, secondMs } from "../src/contract/time.ts";
import { ExchangeError } from "../src/errors.ts";
import { readKnownTime } from "../src/ledger/known-time.ts";
import { seededRandom } from "../src/sandbox/random.ts";
import { isComplete } from "../src/sync/run.ts";
import { drawFaultSchedule } from "./faults/draw.ts";
import {
  type Expectation,
  expectations,
  type FaultKind,
  type ScheduledFault,
} from "./faults/kinds.ts";
import { type Quirks, quirky } from "./faults/quirks.ts";
import { faultyExchange } from "./faults/schedule.ts";
import { fileDatabase } from "./support/database.ts";
import { simulate, simulationStart } from "./support/simulation.ts";

const productType = "USDT-FUTURES";
const { database, tables } = await fileDatabase();

// Many bills near the horizon, and in the first pages of the first window.
const nearHorizon = Array.from(
  { length: 120 },
  (_, index) => simulationStart - retentionMs + index * 500,
);

/** A simulation of an exchange with these faults. `met` has the faults that struck. */
function faultySimulation(
  name: string,
  schedule: readonly ScheduledFault[],
  quirks: Quirks = {},
  edges = nearHorizon,
) {
  const met: ScheduledFault[] = [];
  const simulation = simulate(database.url, {
    seed: name,
    name,
    productTypes: [productType],
    density: 0.1,
    wrapSource: quirky(quirks),
    edges,
    faults: faultyExchange({
      schedule,
      onFault: (fault) => met.push(fault),
      sleep: (delayMs) => simulation.time.clock.sleep(delayMs),
    }),
  });
  return Object.assign(simulation, { met });
}

type Simulation = ReturnType<typeof faultySimulation>;

/** Bills in covered time that were served before the run began and are not stored. */
async function falselyCovered({ sandbox }: Simulation, name: string, beganAt: number) {
  const { rows } = await tables.db.execute<{ id: string }>(
    sql`select bill_id as id from bills where account = ${name}`,
  );
  const stored = new Set(rows.map(({ id }) => id));
  const { coverage } = await readKnownTime(tables.db, { account: name, productType });
  return sandbox.account.ledger.bills[productType].filter(
    ({ billId, cTime, visibleAt }) =>
      visibleAt <= beganAt &&
      coverage.some(({ from, to }) => cTime >= from && cTime < to) &&
      !stored.has(billId),
  );
}

const runsMax = 8;

/** Syncs until nothing is missing, and compares the coverage with the ledger after each run. */
async function syncToTheEnd(simulation: Simulation, name: string) {
  const errors: unknown[] = [];
  for (let runs = 1; runs <= runsMax; runs++) {
    const beganAt = simulation.time.now();
    const report = await simulation.sync();
    errors.push(report.error, ...report.ledgers.map(({ error }) => error));
    expect(await falselyCovered(simulation, name, beganAt)).toEqual([]);
    if (isComplete(report)) return { runs, errors: errors.filter((error) => error !== undefined) };
    // As if started by cron. The longest maintenance is over by then.
    await simulation.pass(15 * minuteMs);
  }
  throw new Error(`still not complete after ${runsMax} runs`);
}

const kindsThat = (expectation: Expectation): readonly FaultKind[] =>
  (Object.keys(expectations) as FaultKind[]).filter((kind) => expectations[kind] === expectation);

function drawn(kind: FaultKind): readonly ScheduledFault[] {
  const options = { requests: 30, count: 10, kinds: [kind] };
  const schedule = drawFaultSchedule(seededRandom(`draw ${kind}`), options);
  // A second false end could answer a second question with the same lie.
  if (kind === "false-end") return schedule.slice(0, 1);
  // It strikes only requests that reach back to the horizon, whichever they are.
  return kind === "edge-refuses"
    ? schedule.slice(0, 1).map((fault) => ({ ...fault, atRequest: 1, times: 60 }))
    : schedule;
}

describe("one run comes through", () => {
  test.each(kindsThat("recovers"))("%s with every bill and no error", async (kind) => {
    // A request has a cursor only where its window has several pages.
    const edges = kind.startsWith("end-id-") || kind === "page-again" ? nearHorizon : [];
    await using simulation = faultySimulation(kind, drawn(kind), {}, edges);
    expect(await syncToTheEnd(simulation, kind)).toEqual({ runs: 1, errors: [] });
    expect(simulation.met.length).toBeGreaterThan(0);
    for (const comparison of await simulation.compare()) {
      // Where the exchange refuses the oldest time, nothing of it can be read.
      const missing = kind === "edge-refuses" ? expect.any(Array) : [];
      expect(comparison).toMatchObject({ missing, extra: [], different: [] });
    }
    const { peaks } = simulation.sandbox.statistics();
    expect(Math.max(...peaks.map(({ requests }) => requests))).toBeLessThanOrEqual(10);
  });
});

describe("what stops a window or a product type is named, and the next runs get it whole:", () => {
  test.each(kindsThat("stops"))("%s", async (kind) => {
    await using simulation = faultySimulation(kind, drawn(kind));
    const { errors } = await syncToTheEnd(simulation, kind);
    expect(simulation.met.length).toBeGreaterThan(0);
    expect(errors.length).toBeGreaterThan(0);
    expect(errors.filter((error) => !(error instanceof ExchangeError))).toEqual([]);
    for (const comparison of await simulation.compare()) {
      expect(comparison).toMatchObject({ missing: [], extra: [], different: [] });
    }
  });
});

describe("time at the exchange's edge", () => {
  test.each([false, true])(
    "is not called complete where requests come late to it (the last page has no cursor: %s)",
    async (shortLastPage) => {
      const name = `edge-${shortLastPage}`;
      const late = {
        kind: "late-request",
        atRequest: 1,
        times: 400,
        holdMs: 8 * secondMs,
      } as const;
      await using simulation = faultySimulation(name, [late], { shortLastPage });
      expect(await syncToTheEnd(simulation, name)).toEqual({ runs: 1, errors: [] });
      expect(simulation.met.length).toBeGreaterThan(20);
    },
  );
});

test("an exchange that serves no bill for more than a second, without a failure, hides none", async () => {
  const name = "nothing for a while";
  let awayUntil = 0;
  await using simulation = simulate(database.url, {
    seed: name,
    name,
    productTypes: [productType],
    density: 0.1,
    wrapAnswer: (answer) => async (request) => {
      const given = await answer(request);
      const isAway = simulation.time.now() < awayUntil;
      if (request.path !== accountBills.path || given.status !== 200 || !isAway) return given;
      const { data: _, ...envelope } = JSON.parse(given.body);
      return { ...given, body: JSON.stringify({ ...envelope, data: { bills: [], endId: "" } }) };
    },
  });
  expect(await simulation.sync()).toSatisfy(isComplete);
  await simulation.pass(hourMs);
  awayUntil = simulation.time.now() + 1_500;
  expect(await simulation.sync()).toSatisfy(isComplete);
  for (const comparison of await simulation.compare()) {
    expect(comparison).toMatchObject({ missing: [], extra: [], different: [] });
  }
});
