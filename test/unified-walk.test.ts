// Holds: Nothing dropped, Nothing shown is dropped
// A unified account's windows are read whole, whatever sorts its pages and whatever its cursor means, or end
// with an error that says why (properties; support/unified-exchange.ts draws what nobody knows).

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { billsApiOf } from "../src/contract/bills-api.ts";
import { dayMs, epochMs } from "../src/contract/time.ts";
import { ContradictionError } from "../src/errors.ts";
import { seededRandom } from "../src/sandbox/random.ts";
import type { PageCommit } from "../src/sync/store.ts";
import { IdOrder } from "../src/sync/walk/answers.ts";
import { walkWindow } from "../src/sync/walk/walk.ts";
import {
  type PlacedRecord,
  type RecordQuirks,
  unifiedExchange,
} from "./support/unified-exchange.ts";

const productType = "UTA-SPOT";
const { query, windowMaxMs, idDisorderMs } = billsApiOf(productType);
const to = epochMs(Date.UTC(2026, 4, 31));
const from = epochMs(to - windowMaxMs);
const now = epochMs(to + dayMs);

/** Walks the window of a ledger. @returns the stored ids, and what ended the walk. */
async function walked(
  records: readonly PlacedRecord[],
  quirks: RecordQuirks,
  random: () => number,
) {
  const answer = unifiedExchange(records, quirks, random);
  const stored = new Set<string>();
  const ends: unknown[] = [];
  const doubts: string[] = [];
  let requests = 0;
  const walking = walkWindow(
    {
      async fetchPage(request) {
        requests += 1;
        if (requests > 3_000) throw new Error("no end");
        return { ...answer(query(request())), requestTime: now, rowTexts: () => [] };
      },
      async commitPage({ bills, next }: PageCommit) {
        if ("end" in next) ends.push(next.end);
        for (const { billId } of bills) stored.add(billId);
        return { new: bills.length, unchanged: 0, restated: 0, rejected: 0 };
      },
      exchangeNow: () => now,
      plannedAt: now,
      settleLagMs: 0,
      idOrder: new IdOrder(idDisorderMs),
      onPage: () => undefined,
      onDoubt: (what) => doubts.push(what),
      signal: new AbortController().signal,
    },
    { account: "main", productType },
    { window: { from, to } },
  );
  const error = await walking.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  // Read time is covered. Time that was not read is neither covered nor lost.
  expect(ends).toEqual(error === undefined ? [{ proven: [{ from, to }], lost: [] }] : []);
  const missing = records.filter(({ id }) => !stored.has(String(id)));
  return { missing: missing.length, error, doubts };
}

// How an id shows the time at which its row was written, as observed.
const idAt = (time: number, sequence: number): bigint =>
  (BigInt(time - 1_435_725_920_677) << 22n) + BigInt(sequence);

/** Bursts of rows, each within some ms. Ids may differ from their times, mostly upwards. */
const ledgers = fc
  .array(
    fc.record({
      at: fc.integer({ min: from, max: to - 1 }),
      rows: fc.oneof(
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 130 }),
        fc.constantFrom(99, 100, 101, 200, 260),
      ),
      spanMs: fc.constantFrom(0, 1, 20, 1_000, 30_000, dayMs),
      besideMs: fc.constantFrom(0, 0, 28, 1_472, -1_500),
    }),
    { maxLength: 7 },
  )
  .chain((bursts) =>
    fc.integer().map((seed) => {
      const random = seededRandom(seed);
      const rows = bursts.flatMap(({ at, rows, spanMs, besideMs }) =>
        Array.from({ length: rows }, () => {
          const ts = Math.min(to - 1, at + Math.floor(random() * spanMs));
          return { ts, beside: random() < 0.3 ? Math.round(besideMs * random()) : 0 };
        }),
      );
      return rows.map(({ ts, beside }, place) => ({ ts, id: idAt(ts + beside, place) }));
    }),
  );

const quirksOf = (isAscending: boolean): fc.Arbitrary<RecordQuirks> =>
  fc.record({
    bounds: fc.constantFrom("both", "start", "end", "neither"),
    sortedBy: fc.constantFrom("time", "id"),
    cursorBy: fc.constantFrom("id", "place"),
    includesCursor: fc.boolean(),
    cursorKind: fc.constantFrom("string", "number"),
    rowOrder: fc.constantFrom("newest-first", "oldest-first", "shuffled"),
    isAscending: fc.constant(isAscending),
    hasShortPages: fc.boolean(),
    end: fc.constantFrom(
      "empty list",
      "null list",
      "empty cursor",
      "no list",
      "nothing",
      "the same cursor",
    ),
  });

describe("a window of a unified account", () => {
  test("is read whole, whatever nobody knows of its pages", async () => {
    await fc.assert(
      fc.asyncProperty(ledgers, quirksOf(false), fc.nat(), async (records, quirks, seed) => {
        const { missing, error } = await walked(records, quirks, seededRandom(seed));
        expect({ missing, error }).toEqual({ missing: 0, error: undefined });
      }),
      { numRuns: 150 },
    );
  });

  test("of which pages begin with the oldest rows is read whole, or is an error that says why", async () => {
    await fc.assert(
      fc.asyncProperty(ledgers, quirksOf(true), fc.nat(), async (records, quirks, seed) => {
        const { missing, error } = await walked(records, quirks, seededRandom(seed));
        if (error === undefined) expect(missing).toBe(0);
        else expect(error).toBeInstanceOf(ContradictionError);
      }),
      { numRuns: 80 },
    );
  });

  const known: RecordQuirks = {
    bounds: "both",
    sortedBy: "time",
    cursorBy: "id",
    includesCursor: false,
    cursorKind: "string",
    rowOrder: "newest-first",
    isAscending: false,
    hasShortPages: false,
    end: "null list",
  };
  const fundingDelayMs = 1_472;

  test("has the row of funding that lies just below a page by its time, and above it by its id", async () => {
    const trades = Array.from({ length: 300 }, (_, place) => {
      const ts = from + dayMs + 50 * place;
      return { ts, id: idAt(ts, place) };
    });
    const ts = from + dayMs + 50 * 199 + 25;
    const funding = { ts, id: idAt(ts + fundingDelayMs, 0) };
    const end = await walked([...trades, funding], known, Math.random);
    expect(end).toMatchObject({ missing: 0, error: undefined, doubts: [] });
  });
});
