// Holds: Bounded
// What may have been hidden is read again by time, nearest first, with as many requests as are allowed.

import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { readStoredBills } from "../src/core/store/bill-rows.ts";
import { dayMs, epochMs, minuteMs, retentionMs } from "../src/lib/time.ts";
import { quirky } from "./exchange/quirks.ts";
import { fileDatabase } from "./support/database.ts";
import { readAgainIn, simulate, simulationStart } from "./support/simulation.ts";

const tables = await fileDatabase();
const { db } = tables;
const productType = "USDT-FUTURES";
const wholeTime = { from: epochMs(simulationStart - retentionMs), to: epochMs(simulationStart) };

/** An exchange of which nothing is stored, and how long the spans were of which it was asked for more than a page, in ms. */
function unread({ pageRows, density }: { readonly pageRows: number; readonly density: number }) {
  const name = randomUUID();
  const paged: number[] = [];
  const simulation = simulate(tables.url, {
    ...{ seed: "again", density, productTypes: [productType], name },
    wrapSource(source) {
      const short = quirky({ pageRows })(source);
      return {
        ...short,
        bills(request) {
          const { startTime = 0, endTime = 0, idLessThan } = request;
          if (idLessThan !== undefined) paged.push(endTime - startTime);
          return short.bills(request);
        },
      };
    },
  });
  const isSettled = ({ visibleAt }: { readonly visibleAt: number }) => visibleAt < simulationStart;
  const bills = simulation.sandbox.account.ledger.bills[productType].filter(isSettled);
  return { name, paged, simulation, bills };
}

test("all is asked for by time alone, in spans that no page can fill but for milliseconds that do", async () => {
  const { name, paged, simulation, bills } = unread({ pageRows: 100, density: 2 });
  await using _ = simulation;
  const { error, requests } = await readAgainIn(db, simulation, productType, [wholeTime]);
  expect(error).toBeUndefined();
  // Three milliseconds, and one on either side.
  expect(paged.filter((ms) => ms > 5)).toEqual([]);
  const stored = await readStoredBills(db, { account: name, productType });
  const wanted = bills.filter(({ cTime }) => cTime > wholeTime.from + minuteMs);
  expect(wanted.length).toBeGreaterThan(4_000);
  expect(stored.length).toBeGreaterThanOrEqual(wanted.length);
  expect(requests).toBeLessThan(wanted.length / 14);
});

test("a thousand requests are sent, for what is nearest to the missing bill, and the rest is left", async () => {
  const { name, simulation, bills } = unread({ pageRows: 3, density: 5 });
  await using _ = simulation;
  const middle = bills.find(({ cTime }) => cTime > simulationStart - 40 * dayMs);
  const from = epochMs(middle?.cTime ?? 0);
  const span = { from, to: epochMs(from + 1) };
  const near = await readAgainIn(db, simulation, productType, [span]);
  expect(near.error).toBeUndefined();
  // Ten pieces are asked at once. When the last request is sent, each may wait with a page and a look beyond that page.
  expect(near.requests).toBeGreaterThanOrEqual(1_000);
  expect(near.requests).toBeLessThan(1_020);
  const stored = await readStoredBills(db, { account: name, productType });
  const ids = new Set(stored.map(({ billId }) => billId));
  const isNear = ({ cTime }: { readonly cTime: number }) => Math.abs(cTime - from) < dayMs;
  expect(bills.filter(isNear).every(({ billId }) => ids.has(billId))).toBe(true);
  const all = await readAgainIn(db, simulation, productType, [wholeTime]);
  expect(String(all.error)).toMatch(
    /1000 requests did not read all again from .*; bill-sync verify --repair --from /,
  );
});
