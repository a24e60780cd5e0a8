import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { openDatabase } from "../src/db/connect.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { withLatency } from "./faults/network.ts";
import { environmentFor, startCli } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";

const productType = "USDT-FUTURES";
const pageStored = /"msg":"page stored"/;
// The lease, which is waited for in one of them, is 15 s.
const maxMs = 10 * 60_000;

/** A slow sandbox exchange, a database, and the program with both configured. */
async function house() {
  const stack = new AsyncDisposableStack();
  const way = { delayMs: 150 };
  const sandbox = stack.use(
    await openSandbox({
      seed: "processes",
      density: 0.1,
      wrapAnswer: (answer) => withLatency(answer, { there: () => way.delayMs, back: () => 0 }),
    }),
  );
  const { url } = stack.use(await testDatabase());
  const { db } = stack.use(openDatabase(url));
  const others = { PRODUCT_TYPES: productType, LOG_LEVEL: "debug" };
  const env = environmentFor(sandbox, { url }, others);
  return {
    way,
    sandbox,
    start: () => startCli(["sync", "--only", "bills"], { env, maxMs }),
    async expectExact(syncedAt: number) {
      const comparison = await heldAgainstLedger(db, sandbox, productType, syncedAt);
      expect(comparison).toMatchObject(exactly);
      expect(comparison.expected).toBeGreaterThan(150);
    },
    async rowCounts() {
      const { rows } = await db.execute(sql`
        select
          (select count(*)::int from bills) as bills,
          (select count(*)::int from bill_revisions) as revisions,
          (select max(xmin::text::bigint) from streams) as last_written`);
      return rows;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

describe.concurrent("several processes on one account", { timeout: maxMs }, () => {
  test("a sync that is frozen for longer than its lease writes nothing more once another took over", async () => {
    await using at = await house();
    await using frozen = await at.start();
    await frozen.seen("stderr", pageStored);
    frozen.kill("SIGSTOP");
    const syncedAt = Date.now();
    await using next = await at.start();
    expect(await next.ended).toMatchObject({ code: 0 });
    await at.expectExact(syncedAt);
    const before = await at.rowCounts();
    frozen.kill("SIGCONT");
    const end = await frozen.ended;
    expect(end.code).toBe(1);
    // The server ends a transaction that was idle for that long.
    expect(end.stdout).toMatch(/^main\S*: (?:this run lost account main|the database failed)/m);
    expect(await at.rowCounts()).toEqual(before);
  });

  test("of five syncs at once one is complete, and four end with code 3 and name it", async () => {
    await using at = await house();
    const syncedAt = Date.now();
    await using stack = new AsyncDisposableStack();
    const syncs = await Promise.all(
      Array.from({ length: 5 }, async () => stack.use(await at.start())),
    );
    await Promise.any(syncs.map((sync) => sync.seen("stderr", pageStored)));
    // Longer than the others need to see the lease renewed.
    at.way.delayMs = 4_000;
    const held = syncs.map((sync) => sync.seen("stdout", /^main: another run holds account main /));
    await untilSettled(held, 4);
    at.way.delayMs = 0;
    const ends = await Promise.all(syncs.map((sync) => sync.ended));
    expect(ends.map(({ code }) => code).sort()).toEqual([0, 3, 3, 3, 3]);
    await at.expectExact(syncedAt);
    expect(at.sandbox.statistics().refusals).toEqual({});
  });
});

/** Resolves once this many of them have resolved. */
async function untilSettled(works: readonly Promise<unknown>[], count: number): Promise<void> {
  let settled = 0;
  await new Promise<void>((resolve) => {
    for (const work of works) {
      work.then(
        () => ++settled === count && resolve(),
        () => undefined,
      );
    }
  });
}
