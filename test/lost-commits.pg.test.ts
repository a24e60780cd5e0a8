// Holds: Honest coverage

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { openDatabase } from "../src/db/connect.ts";
import { migrate } from "../src/db/migrate.ts";
import { CommitsLostError } from "../src/errors.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { type AccountReport, isComplete } from "../src/sync/run.ts";
import { withLatency } from "./faults/network.ts";
import { environmentFor, runCli, startCli } from "./support/cli.ts";
import { fileDatabase } from "./support/database.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";
import { simulate } from "./support/simulation.ts";
import { throwawayServer } from "./support/throwaway-server.ts";

const productType = "USDT-FUTURES";
const { database, tables } = await fileDatabase();

/** Does some work, then puts the tables back as they were, as if a lagging replica had taken over. */
async function forgotten<T>(work: () => Promise<T>): Promise<T> {
  const names = ["bills", "windows", "ledgers"].map((name) => sql.identifier(name));
  const each = async (statement: (name: (typeof names)[number]) => ReturnType<typeof sql>) => {
    for (const name of names) await tables.db.execute(statement(name));
  };
  await each((name) => sql`create table before.${name} as table public.${name}`);
  const result = await work();
  await each((name) => sql`delete from public.${name}`);
  await each((name) => sql`insert into public.${name} table before.${name}`);
  await each((name) => sql`drop table before.${name}`);
  return result;
}

/** A run whose database forgets the n-th page that it confirmed, and the run after it. */
async function runForgetting(page: number) {
  await tables.db.execute(sql`truncate bills, windows, ledgers`);
  let pages = 0;
  await using simulation = simulate(database.url, {
    name: "forgetful",
    seed: 5,
    density: 0.1,
    productTypes: [productType],
    wrapStore: (store) => ({
      ...store,
      commitPage: (given) => {
        const commit = () => store.commitPage(given);
        return ++pages === page ? forgotten(commit) : commit();
      },
    }),
  });
  const first = await simulation.sync();
  const pagesOfFirst = pages;
  expect(await simulation.sync()).toSatisfy(isComplete);
  for (const comparison of await simulation.compare()) expect(comparison).toMatchObject(exactly);
  return { first, pages: pagesOfFirst };
}

const errorsOf = ({ error, ledgers }: AccountReport) =>
  [error, ...ledgers.map((ledger) => ledger.error)].filter((found) => found !== undefined);

test("a database that goes back by one page, whichever that is, is noticed by the run, and the next one has all", async () => {
  await tables.db.execute(sql`create schema before`);
  const whole = await runForgetting(Number.POSITIVE_INFINITY);
  expect(whole.first).toSatisfy(isComplete);
  expect(whole.pages).toBeGreaterThan(15);
  // Every fourth one: the pages of a window are alike.
  for (let page = 1; page <= whole.pages; page += 4) {
    const { first } = await runForgetting(page);
    expect(errorsOf(first), `page ${page}`).toEqual([expect.any(CommitsLostError)]);
    expect(first, `page ${page}`).not.toSatisfy(isComplete);
  }
});

test("a server that crashes without synchronous commits, while no statement is under way, costs no bill", async () => {
  await using server = await throwawayServer({
    settings: {
      synchronous_commit: "off",
      // The server writes its log rarely, so a crash loses what was confirmed in the last seconds.
      ...{ wal_writer_delay: "10s", wal_writer_flush_after: "1GB" },
    },
  });
  await migrate(server.url);
  let delayMs = 0;
  await using sandbox = await openSandbox({
    seed: "forgetful",
    density: 4,
    days: 6,
    wrapAnswer: (answer) => withLatency(answer, { there: () => delayMs, back: () => 0 }),
  });
  const env = environmentFor(sandbox, server, { PRODUCT_TYPES: productType, LOG_LEVEL: "debug" });
  const startedAt = Date.now();
  await using sync = await startCli(["sync", "--only", "bills"], { env });
  const pages = (count: number) =>
    sync.seen("stderr", new RegExp(`(?:"msg":"page stored"[^]*){${count}}`));
  // The twelve windows before the history are empty, and one page of the last window is stored.
  await pages(13);
  // Longer than the server needs to come back, so that the program does not see that it was away.
  delayMs = 10_000;
  const seen = sync.written.stderr.split('"msg":"page stored"').length - 1;
  await pages(seen + 1);
  await server.stop("immediate");
  await server.start();
  delayMs = 0;
  const end = await sync.ended;
  await using open = openDatabase(server.url);
  const held = (until: number) => heldAgainstLedger(open.db, sandbox, productType, until);
  // A page, the lease's renewal or a connection that is used again may be the first to notice.
  const noticed =
    /: (?:the database lost confirmed commits|this run lost account|the database failed)/;
  if (end.code === 1) expect(end.stdout).toMatch(noticed);
  // A crash that lost nothing may go unnoticed. Then everything is stored.
  else
    expect({ code: end.code, ...(await held(startedAt)) }).toMatchObject({ code: 0, ...exactly });
  const syncedAt = Date.now();
  expect((await runCli(["sync", "--only", "bills"], { env })).code).toBe(0);
  const comparison = await held(syncedAt);
  expect(comparison).toMatchObject(exactly);
  expect(comparison.expected).toBeGreaterThan(300);
});
