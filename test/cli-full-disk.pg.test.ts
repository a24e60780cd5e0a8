// If the log cannot be written (a full disk, a closed pipe), the sync goes on; if a result cannot be written,
// that is a failure.

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import type { ProductType } from "../src/core/contract/product-types.ts";
import { Refusal } from "../src/core/server/answer.ts";
import { runCli } from "./support/cli.ts";
import { openHouse } from "./support/house.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";

test("where nothing that is written finds room, a sync brings every bill, and a command whose output is its result says why it failed", async () => {
  const refused = new Map<ProductType, Refusal>();
  await using at = await openHouse(
    { seed: "full disk", alterCredential: (credential) => ({ ...credential, refused }) },
    { PRODUCT_TYPES: "USDT-FUTURES,COIN-FUTURES", LOG_LEVEL: "trace" },
  );
  const { db, env } = at;
  const run = (args: readonly string[], full: readonly ("stdout" | "stderr")[]) =>
    runCli(args, { env, full });
  const both = ["stdout", "stderr"] as const;
  const begunAt = Date.now();
  expect((await run(["db", "migrate"], both)).code).toBe(0);
  expect((await run(["sync"], both)).code).toBe(0);
  const found = await heldAgainstLedger(db, at.sandbox, "USDT-FUTURES", begunAt);
  expect(found).toMatchObject(exactly);
  expect(found.equal).toBeGreaterThan(10);
  refused.set("COIN-FUTURES", new Refusal(400, "40014", "Incorrect permissions"));
  expect((await run(["sync"], both)).code).toBe(1);
  const { rows } = await db.execute<{ outcome: string }>(
    sql`select outcome from runs where command <> 'reconcile' order by started_at`,
  );
  expect(rows.map(({ outcome }) => outcome)).toEqual(["complete", "incomplete"]);
  refused.clear();
  for (const words of ["sync --json", "status", "reconcile", "export --format csv", "--help"]) {
    const { code, stderr } = await run(words.split(" "), ["stdout"]);
    expect({ words, code }).toEqual({ words, code: 1 });
    expect(stderr).toMatch(/the output could not be written: ENOSPC/);
  }
});
