// A database at 300 ms of round trip, or behind a line of 24 kB/s (support/tcp-proxy.ts delays and throttles each
// byte).

import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { openDatabase } from "../src/core/postgres/connect.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import { environmentFor, runCli } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";
import { distantServer, type Link } from "./support/tcp-proxy.ts";

const productType = "USDT-FUTURES";
// Some 30 s where nothing else is at work.
const maxMs = 5 * 60_000;

const links: readonly (readonly [string, Link])[] = [
  ["at 300 ms of round trip", { roundTripMs: 300 }],
  ["at 20 ms, on a line of 24 kB/s", { roundTripMs: 20, bytesPerSecond: 24_000 }],
];

describe.concurrent("the first sync into a database that is far away", { timeout: maxMs }, () => {
  test.each(links)("ends with exactly the ledger, under one lease: %s", async (_, link) => {
    await using sandbox = await openSandbox({ seed: "far", density: 0.1 });
    await using database = await testDatabase();
    await using far = await distantServer(database.url, link);
    const env = environmentFor(sandbox, far, { PRODUCT_TYPES: productType });
    const syncedAt = Date.now();
    const end = await runCli(["sync"], { env, maxMs });
    expect({ code: end.code, said: end.stdout }).toEqual({
      code: 0,
      said: expect.stringMatching(/^complete, after /m),
    });
    await using near = openDatabase(database.url);
    const comparison = await heldAgainstLedger(near.db, sandbox, productType, syncedAt);
    expect(comparison).toMatchObject(exactly);
    expect(comparison.expected).toBeGreaterThan(150);
    const { rows } = await near.db.execute(sql`select account, holder, epoch::int from leases`);
    expect(rows).toEqual([{ account: "main", holder: "", epoch: 1 }]);
  });
});
