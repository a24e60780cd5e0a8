// Holds: No false success

import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { describe, expect, test, vi } from "vitest";
import { withLatency } from "./exchange/network.ts";
import { openHouse } from "./support/house.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";

// npm repeats a terminal's Ctrl-C within a few milliseconds. A user who presses it twice takes longer.
const secondKeyMs = 400;
const longMs = 10_000;

/** A house with a slow exchange. */
async function house() {
  const way = { delayMs: 150, longDelays: 0 };
  const there = () => {
    if (way.delayMs === longMs) way.longDelays += 1;
    return way.delayMs;
  };
  const at = await openHouse(
    {
      ...{ seed: "signals", density: 0.3 },
      wrapAnswer: (answer) => withLatency(answer, there, () => 0),
    },
    { LOG_LEVEL: "debug" },
  );
  return {
    ...at,
    way,
    start: () => at.start("sync", "--only", "bills"),
    run: () => at.run("sync", "--only", "bills"),
    async outcomes() {
      const { rows } = await at.db.execute<{ outcome: string; finished: boolean }>(
        sql`select outcome, finished_at is not null as finished from runs where command = 'sync' order by started_at`,
      );
      return rows.map(({ outcome, finished }) => [outcome, finished]);
    },
  };
}

const pageStored = /"msg":"page stored"/;

describe.concurrent("a run that is asked to stop", () => {
  test("finishes its pages, says what is left, and the next run has exactly the ledger", async () => {
    await using at = await house();
    await using sync = await at.start();
    await sync.seen("stderr", pageStored);
    sync.kill("SIGINT");
    const end = await sync.ended;
    expect(end.code).toBe(1);
    expect(end.stderr).toContain("stopping after the pages in hand");
    expect(end.stderr).toMatch(/"level":"warn".*"msg":"sync ended: stopped"}\n$/);
    expect(end.stderr).not.toContain('"level":"error"');
    expect(end.stdout).toMatch(
      /\nmain\/USDT-FUTURES: \d+ of (1[3-9]|[2-9]\d) windows not finished\n/,
    );
    expect(end.stdout).toMatch(
      /\nstopped before the end \(bill-sync sync continues it\), after [^\n]+\n$/,
    );
    const { rows } = await at.db.execute<{ bills: string }>(
      sql`select count(*) as bills from bills`,
    );
    const counted = /^USDT-FUTURES +([\d,]+) /m.exec(end.stdout)?.[1]?.replaceAll(",", "");
    expect(rows[0]?.bills).toBe(counted);

    const syncedAt = Date.now();
    expect((await at.run()).code).toBe(0);
    expect(await heldAgainstLedger(at.db, at.sandbox, "USDT-FUTURES", syncedAt)).toMatchObject(
      exactly,
    );
    expect(await at.outcomes()).toEqual([
      ["stopped", true],
      ["complete", true],
    ]);
  });

  test("twice within one key press, as npm does it, is asked once", async () => {
    await using at = await house();
    await using sync = await at.start();
    await sync.seen("stderr", pageStored);
    // The process finds both signals when it continues, however busy the machine is.
    for (const signal of ["SIGSTOP", "SIGINT", "SIGTERM", "SIGCONT"] as const) sync.kill(signal);
    const end = await sync.ended;
    expect(end).toMatchObject({ code: 1, signal: null });
    expect(end.stdout).toContain("stopped before the end");
  });

  test("a second time ends at once, without waiting for an answer", async () => {
    await using at = await house();
    await using sync = await at.start();
    await sync.seen("stderr", pageStored);
    at.way.delayMs = longMs;
    await vi.waitFor(() => expect(at.way.longDelays).toBeGreaterThan(0), { timeout: longMs });
    sync.kill("SIGINT");
    await sync.seen("stderr", /stopping after/);
    await sleep(secondKeyMs);
    sync.kill("SIGTERM");
    expect(await sync.ended).toMatchObject({ code: 1, signal: null, stdout: "" });
    expect(await at.outcomes()).toEqual([["running", false]]);
  });
});
