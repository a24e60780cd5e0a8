// Holds: No false success
// Each kind of fault in whole runs.

import { expect, test } from "vitest";
import { isComplete } from "../src/core/sync/account-report.ts";
import { ExchangeError } from "../src/lib/errors.ts";
import { minuteMs, retentionMs } from "../src/lib/time.ts";
import { seededRandom } from "../src/wings/sandbox/random.ts";
import {
  drawFaultSchedule,
  type FaultKind,
  faultKinds,
  type ScheduledFault,
  survivableKinds,
} from "./exchange/kinds.ts";
import { faultyExchange } from "./exchange/schedule.ts";
import { fileDatabase } from "./support/database.ts";
import { simulate, simulationStart } from "./support/simulation.ts";

const database = await fileDatabase();

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

test.each(survivableKinds)(
  "one run comes through %s with every bill, or names what it stopped, and the next runs get it whole",
  async (kind) => {
    const met: ScheduledFault[] = [];
    await using simulation = simulate(database.url, {
      ...{ seed: kind, name: kind, productTypes: ["USDT-FUTURES"], density: 0.1 },
      // Many bills in the first pages of the first window: a request has a cursor only where there are several.
      edges: Array.from({ length: 120 }, (_, index) => simulationStart - retentionMs + index * 500),
      ...faultyExchange({
        schedule: drawn(kind),
        onFault: (fault) => met.push(fault),
        now: () => simulation.time.now(),
        sleep: (delayMs) => simulation.time.clock.sleep(delayMs),
      }),
    });
    const errors: unknown[] = [];
    for (let run = 1; run <= 8; run++) {
      const report = await simulation.sync();
      errors.push(report.error, ...report.ledgers.map(({ error }) => error));
      if (isComplete(report)) break;
      // As if started by cron. The longest maintenance is over by then.
      await simulation.pass(15 * minuteMs);
    }
    expect(met.length).toBeGreaterThan(0);
    const told = errors.filter((error) => error !== undefined);
    expect(told.every((error) => error instanceof ExchangeError)).toBe(true);
    expect(told.length > 0).toBe(faultKinds[kind].expected === "stops");
    for (const comparison of await simulation.compare()) {
      // Where the exchange refuses the oldest time, nothing of it can be read.
      const missing = kind === "edge-refuses" ? expect.any(Array) : [];
      expect(comparison).toMatchObject({ missing, extra: [], different: [] });
    }
    const { peaks } = simulation.sandbox.statistics();
    expect(Math.max(...peaks.map(({ requests }) => requests))).toBeLessThanOrEqual(10);
  },
);
