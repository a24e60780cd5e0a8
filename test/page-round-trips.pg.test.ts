// A page is stored in two round trips, and so is the end of a window; the days of windows that end together
// take three.

import { expect, test } from "vitest";
import { type Database, openDatabase } from "../src/db/connect.ts";
import { openStore } from "../src/ledger/ledger-store.ts";
import { bills } from "./support/bills.ts";
import { testDatabase } from "./support/database.ts";
import {
  aPage,
  holdLedger,
  minutes,
  origin,
  plan,
  provenWhole,
  timesOf,
} from "./support/held-store.ts";

/** Counts the statements that are sent while none is under way: each begins a round trip. */
function countRoundTrips(db: Database): () => number {
  let underWay = 0;
  let begun = 0;
  db.$client.on("connect", (client) => {
    const query = client.query.bind(client) as (...given: unknown[]) => unknown;
    const counted = (...given: unknown[]) => {
      if (underWay === 0) begun += 1;
      underWay += 1;
      const end = () => {
        underWay -= 1;
      };
      const answer = query(...given);
      Promise.resolve(answer).then(end, end);
      return answer;
    };
    client.query = counted as typeof client.query;
  });
  return () => begun;
}

test("a page is stored in two round trips, as is the end of windows; the days of windows that end together take three", async () => {
  await using database = await testDatabase();
  await using tables = openDatabase(database.url);
  await using counted = openDatabase(database.url);
  const roundTrips = countRoundTrips(counted.db);
  const taken = async (work: () => Promise<unknown>): Promise<number> => {
    const before = roundTrips();
    await work();
    return roundTrips() - before;
  };
  const held = await holdLedger(tables.db);
  const { ledger } = held;
  const windows = [minutes(0, 10), minutes(10, 20), minutes(20, 30)];
  await plan(held, windows);
  const store = openStore(counted.db, { account: ledger.account, epoch: 1 });
  const [first = minutes(0, 0)] = windows;
  const page = aPage(ledger, first, { cursor: "c1" }, { bills: bills(100, { cTime: origin }) });
  expect(await taken(() => store.commitPage(page))).toBe(2);
  const ended = windows.map((window) =>
    aPage(ledger, window, provenWhole(window), window === first ? { after: "c1" } : {}),
  );
  expect(await taken(() => Promise.all(ended.map((one) => store.commitPage(one))))).toBe(2);
  expect(await timesOf(tables.db, ledger)).toEqual([expect.stringMatching(/^0-30 covered$/)]);
});
