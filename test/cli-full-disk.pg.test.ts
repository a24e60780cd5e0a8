// If the log cannot be written (a full disk, a closed pipe), the sync goes on; if a result cannot be written,
// that is a failure.

import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import type { SandboxOptions } from "../src/sandbox/sandbox.ts";
import { withRefusedProducts } from "./faults/network.ts";
import { type CliOptions, runCli } from "./support/cli.ts";
import { openHouse } from "./support/house.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";

/** A house with the most verbose log. */
async function house(options: Partial<SandboxOptions> = {}) {
  const at = await openHouse(
    { seed: "full disk", ...options },
    { PRODUCT_TYPES: "USDT-FUTURES,COIN-FUTURES", LOG_LEVEL: "trace" },
  );
  const { db, env } = at;
  return {
    ...at,
    run: (args: readonly string[], full: CliOptions["full"] = []) => runCli(args, { env, full }),
    outcomes: async () => {
      const { rows } = await db.execute<{ outcome: string }>(
        sql`select outcome from sync_runs where command <> 'reconcile' order by started_at`,
      );
      return rows.map(({ outcome }) => outcome);
    },
  };
}

const both = ["stdout", "stderr"] as const;

describe.concurrent("where nothing that is written finds room", () => {
  test("a sync brings every bill, its run is complete, and it exits with 0", async () => {
    await using at = await house();
    const begunAt = Date.now();
    expect((await at.run(["db", "migrate"], both)).code).toBe(0);
    expect((await at.run(["sync"], both)).code).toBe(0);
    expect(await at.outcomes()).toEqual(["complete"]);
    const found = await heldAgainstLedger(at.db, at.sandbox, "USDT-FUTURES", begunAt);
    expect(found).toMatchObject(exactly);
    expect(found.equal).toBeGreaterThan(10);
  });

  test("a sync that is not complete exits with 1, and its row says so", async () => {
    await using at = await house({
      wrapAnswer: (answer) => withRefusedProducts(answer, ["COIN-FUTURES"]),
    });
    expect((await at.run(["sync"], both)).code).toBe(1);
    expect(await at.outcomes()).toEqual(["incomplete"]);
  });

  test("a command whose output is its result exits with 1 and says why", async () => {
    await using at = await house({ density: 0.02 });
    expect((await at.run(["sync"])).code).toBe(0);
    for (const args of [
      ["sync", "--json"],
      ["status"],
      ["reconcile"],
      ["export", "--format", "csv"],
      ["--help"],
    ]) {
      const { code, stderr } = await at.run(args, ["stdout"]);
      expect({ args, code }).toEqual({ args, code: 1 });
      expect(stderr).toMatch(/the output could not be written: ENOSPC/);
    }
  });
});
