// Holds: Honest coverage

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import type { AccountReport } from "../src/core/sync/account-report.ts";
import { isComplete } from "../src/core/sync/account-report.ts";
import { fileDatabase } from "./support/database.ts";
import { exactly } from "./support/sandbox-ledger.ts";
import { simulate } from "./support/simulation.ts";

const productType = "USDT-FUTURES";
const { db, url } = await fileDatabase();

/** Does some work, then puts the tables back as they were, as if a lagging replica had taken over. */
async function forgotten<T>(work: () => Promise<T>): Promise<T> {
  const names = ["bills", "windows", "ledgers"].map((name) => sql.identifier(name));
  const each = async (statement: (name: (typeof names)[number]) => ReturnType<typeof sql>) => {
    for (const name of names) await db.execute(statement(name));
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
  await db.execute(sql`truncate bills, windows, ledgers`);
  let pages = 0;
  await using simulation = simulate(url, {
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
  await db.execute(sql`create schema before`);
  const whole = await runForgetting(Number.POSITIVE_INFINITY);
  expect(whole.first).toSatisfy(isComplete);
  expect(whole.pages).toBeGreaterThan(15);
  // Every fourth one: the pages of a window are alike.
  for (let page = 1; page <= whole.pages; page += 4) {
    const { first } = await runForgetting(page);
    expect(errorsOf(first), `page ${page}`).toMatchObject([
      { message: expect.stringContaining("lost confirmed commits") },
    ]);
    expect(first, `page ${page}`).not.toSatisfy(isComplete);
  }
});
