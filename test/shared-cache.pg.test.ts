import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { dayMs, epochMs, isoTime } from "../src/contract/time.ts";
import { openDatabase } from "../src/db/connect.ts";
import type { Answer, ApiAnswer } from "../src/exchange-server/api.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { environmentFor, runCli } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";

const productType = "USDT-FUTURES";

/** A cache between this machine and the exchange, whose entries do not name the key. */
function sharedCache(obeys: boolean) {
  const entries = new Map<string, ApiAnswer>();
  const hits: string[] = [];
  const wrap =
    (answer: Answer): Answer =>
    async (request) => {
      const { path, query, headers } = request;
      const isAsked =
        obeys && headers["cache-control"] === "no-cache" && headers["pragma"] === "no-cache";
      const place = `${path} ${JSON.stringify(Object.entries(query).toSorted())}`;
      const fresh = await answer(request);
      if (!path.endsWith("/bill") || query["startTime"] === undefined || isAsked) return fresh;
      const entry = entries.get(place);
      if (entry === undefined) {
        if (fresh.status === 200) entries.set(place, fresh);
        return fresh;
      }
      hits.push(place);
      // An answer that is older than half a minute is refused for its time.
      return { ...entry, body: withTimeOf(entry.body, fresh.body) };
    };
  return { wrap, hits };
}

/** A body with the time of another one. */
function withTimeOf(body: string, other: string): string {
  const time = /"requestTime":(\d+)/;
  return body.replace(time, `"requestTime":${time.exec(other)?.[1]}`);
}

async function house(obeys: boolean) {
  const stack = new AsyncDisposableStack();
  const cache = sharedCache(obeys);
  const sandbox = stack.use(
    await openSandbox({
      seed: "cache",
      density: 0.1,
      productTypes: [productType],
      accountNames: ["north", "south"],
      wrapAnswer: cache.wrap,
    }),
  );
  const database = stack.use(await testDatabase());
  const { db } = stack.use(openDatabase(database.url));
  return {
    db,
    cache,
    run(name: string, ...args: readonly string[]) {
      const account = sandbox.accounts.find((one) => one.name === name) ?? sandbox.account;
      const env = environmentFor({ url: sandbox.url, account }, database, {
        PRODUCT_TYPES: productType,
        EXCHANGE_ACCOUNT: name,
      });
      return runCli(args, { env });
    },
    async counts() {
      const { rows } = await db.execute<{ account: string; bills: number }>(sql`
        select account, count(*)::int as bills from bills group by account order by account`);
      return Object.fromEntries(rows.map(({ account, bills }) => [account, bills]));
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const daysAgo = (days: number) => isoTime(epochMs(Date.now() - days * dayMs));

test("a cache that obeys is told with each request not to answer in the exchange's place", async () => {
  await using at = await house(true);
  for (const name of ["north", "south"]) {
    expect((await at.run(name, "sync", "--only", "bills")).code).toBe(0);
  }
  const span = ["--from", daysAgo(20), "--to", daysAgo(10)];
  for (const name of ["north", "south"]) {
    const verified = await at.run(name, "verify", ...span, "--repair");
    expect(verified.code, verified.stdout).toBe(0);
  }
  expect(at.cache.hits).toEqual([]);
});

test("a page that a cache answers with another account's bills is refused whole, where its account has other bills of that time", async () => {
  await using at = await house(false);
  const span = ["--from", daysAgo(20), "--to", daysAgo(10)];
  for (const name of ["north", "south"]) {
    expect((await at.run(name, "sync", "--only", "bills")).code).toBe(0);
  }
  expect((await at.run("north", "verify", ...span, "--repair")).code).toBe(0);
  const before = await at.counts();
  const active = await at.run("south", "verify", ...span, "--repair");
  expect(at.cache.hits.length).toBeGreaterThan(0);
  expect(active.code).toBe(1);
  expect(active.stdout).toMatch(/none of the \d+ bills .* is stored, and others .* are/);
  expect(await at.counts()).toEqual(before);
});
