// Holds: Nothing dropped, Nothing shown is dropped
// A unified account's windows are read whole, whatever sorts its pages and whatever its cursor means, or end
// with an error that says why (properties; support/unified-exchange.ts draws what nobody knows).

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { billsApiOf } from "../src/contract/bills-api.ts";
import { dayMs, epochMs, secondMs } from "../src/contract/time.ts";
import { ContradictionError } from "../src/errors.ts";
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

/** Walks the window of a stream. @returns the stored ids, and what ended the walk. */
async function walked(
  records: readonly PlacedRecord[],
  quirks: RecordQuirks,
  random: () => number,
  knownDisorderMs = idDisorderMs,
  shown = records,
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
      idOrder: new IdOrder(knownDisorderMs),
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
  const missing = shown.filter(({ id }) => !stored.has(String(id)));
  return { missing: missing.length, error, doubts, requests };
}

/** Numbers in [0, 1) that are the same for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
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
      const random = randomOf(seed);
      const rows = bursts.flatMap(({ at, rows, spanMs, besideMs }) =>
        Array.from({ length: rows }, () => {
          const ts = Math.min(to - 1, at + Math.floor(random() * spanMs));
          return { ts, beside: random() < 0.3 ? Math.round(besideMs * random()) : 0 };
        }),
      );
      return rows.map(({ ts, beside }, place) => ({ ts, id: idAt(ts + beside, place) }));
    }),
  );

const oneAMillisecond = (records: readonly PlacedRecord[]): readonly PlacedRecord[] => [
  ...new Map(records.map((record) => [record.ts, record])).values(),
];

/** The same times and ids, of which each later row has the higher id. */
function inIdOrder(records: readonly PlacedRecord[]): readonly PlacedRecord[] {
  const ids = records.map(({ id }) => id).sort((a, b) => (a < b ? -1 : 1));
  const times = records.map(({ ts }) => ts).sort((a, b) => a - b);
  return ids.map((id, place) => ({ id, ts: times[place] ?? 0 }));
}

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
        const { missing, error } = await walked(records, quirks, randomOf(seed));
        expect({ missing, error }).toEqual({ missing: 0, error: undefined });
      }),
      { numRuns: 150 },
    );
  });

  test("of which pages begin with the oldest rows is read whole, or is an error that says why", async () => {
    await fc.assert(
      fc.asyncProperty(ledgers, quirksOf(true), fc.nat(), async (records, quirks, seed) => {
        const { missing, error } = await walked(records, quirks, randomOf(seed));
        if (error === undefined) expect(missing).toBe(0);
        else expect(error).toBeInstanceOf(ContradictionError);
      }),
      { numRuns: 80 },
    );
  });

  test("of which each page has at most three rows is read whole, or is an error that says why", async () => {
    const few = ledgers.map((records) => records.slice(0, 40));
    const small = fc
      .tuple(fc.boolean().chain(quirksOf), fc.integer({ min: 1, max: 3 }))
      .map(([quirks, pageRows]): RecordQuirks => ({ ...quirks, pageRows }));
    await fc.assert(
      fc.asyncProperty(
        few,
        small,
        fc.boolean(),
        fc.nat(),
        async (records, quirks, isClassic, seed) => {
          // A page that has room for its cursor's own bill alone hides the others of its millisecond for ever.
          const isStuck = quirks.includesCursor && quirks.cursorBy === "place";
          const disorderMs = isClassic ? 0 : idDisorderMs;
          const rows = isStuck ? oneAMillisecond(records) : records;
          // What such pages, or those that begin with the oldest rows, hide cannot be known if ids are out of order.
          const told = isStuck || quirks.isAscending ? inIdOrder(rows) : rows;
          const { missing, error } = await walked(told, quirks, randomOf(seed), disorderMs);
          if (error === undefined) expect(missing).toBe(0);
          else expect(error).toBeInstanceOf(ContradictionError);
        },
      ),
      { numRuns: 300 },
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

  test("is an error where its first page is the oldest, and its answers look sorted by time", async () => {
    const early = Array.from({ length: 30 }, (_, place) => {
      const ts = from + dayMs + place;
      return { ts, id: idAt(ts + fundingDelayMs, place) };
    });
    const later = Array.from({ length: 270 }, (_, place) => {
      const ts = from + dayMs + 100 + (place < 70 ? place : dayMs + place);
      return { ts, id: idAt(ts, place) };
    });
    // The first page is full. The others are as short as pages can be.
    const sizes = [0].values();
    const quirks = { ...known, isAscending: true, hasShortPages: true };
    const end = await walked([...early, ...later], quirks, () => sizes.next().value ?? 0.999);
    expect(end.error).toMatchObject({
      message: expect.stringMatching(/was missing from earlier pages/),
    });
  });

  test("is asked on below a bill behind which known bills lie by id and by time", async () => {
    const at = from + dayMs;
    const trades = Array.from({ length: 200 }, (_, place) => {
      const ts = at + place * secondMs;
      return { ts, id: idAt(ts, place) };
    });
    // The first page has the lowest ids, and not the oldest rows.
    const odd = Array.from({ length: 10 }, (_, place) => ({
      ts: at + 112 * secondMs + place,
      id: idAt(at + 109 * secondMs + 500, place),
    }));
    const end = await walked([...trades, ...odd], { ...known, cursorBy: "place" }, Math.random);
    expect(end).toMatchObject({ missing: 0, error: undefined });
  });

  test("of which a crowd fills the first millisecond is read whole", async () => {
    const rows = Array.from({ length: 250 }, (_, place) => {
      const ts = from + Math.max(0, Math.floor((place - 120) / 5));
      return { ts, id: idAt(ts, place) };
    });
    const end = await walked(rows, known, Math.random);
    expect(end).toMatchObject({ missing: 0, error: undefined, doubts: [] });
  });

  const aWeek = Array.from({ length: 700 }, (_, place) => {
    const ts = from + dayMs + 600 * secondMs * place;
    return { ts, id: idAt(ts, place) };
  });

  describe.each([0, idDisorderMs])(
    "with ids known to lie %i ms beside their times",
    (disorderMs) => {
      test.each<[string, readonly [number, number][], Partial<RecordQuirks>]>([
        [
          "some rows of each page",
          [
            [0, 3],
            [50, 90],
            [120, 200],
            [205, 290],
          ],
          {},
        ],
        ["a page of rows in the middle", [[100, 420]], {}],
        ["all but the oldest rows", [[3, 700]], { end: "null list" }],
        [
          "all rows but those in the middle",
          [
            [0, 340],
            [345, 700],
          ],
          { end: "empty cursor" },
        ],
        ["all rows but the newest", [[0, 695]], { end: "null list", includesCursor: true }],
      ])("is read whole where pages lack, after they were cut, %s", async (_, spans, quirks) => {
        const hidden = new Set(spans.flatMap(([start, end]) => aWeek.slice(start, end)));
        const shown = aWeek.filter((record) => !hidden.has(record));
        const exchange = {
          ...known,
          ...quirks,
          isHidden: (record: PlacedRecord) => hidden.has(record),
        };
        const end = await walked(aWeek, exchange, Math.random, disorderMs, shown);
        if (end.error === undefined) expect(end.missing).toBe(0);
        else expect(end.error).toBeInstanceOf(ContradictionError);
        if (disorderMs === 0 && shown.length > 200) expect(end.error).toBe(undefined);
      });

      test.each([90, 100, 101, 250, 700])(
        "is an error, or read whole, where pages without a cursor begin with the oldest of %i rows",
        async (rows) => {
          const records = aWeek.slice(0, rows);
          for (const pageRows of [100, 20]) {
            const exchange = { ...known, isAscendingAlone: true, pageRows };
            const end = await walked(records, exchange, Math.random, disorderMs);
            if (end.error === undefined) expect([pageRows, end.missing]).toEqual([pageRows, 0]);
            else expect(end.error).toBeInstanceOf(ContradictionError);
          }
        },
      );

      test.each([1, 2, 3, 9, 10, 11])(
        "is read whole where pages fall to %i rows in the middle of it, or refused where these are few",
        async (fallen) => {
          for (let after = 1; after < 12; after++) {
            for (const includesCursor of [false, true]) {
              const pageRows = (request: number) => (request > after ? fallen : 100);
              const exchange = { ...known, includesCursor, pageRows };
              const records = aWeek.slice(0, 250);
              const { missing, error } = await walked(records, exchange, Math.random, disorderMs);
              const met = { after, includesCursor };
              const isRefused = fallen < 8 && error instanceof ContradictionError;
              if (!isRefused) expect({ ...met, missing, error }).toEqual({ ...met, missing: 0 });
            }
          }
        },
      );
    },
  );
});
