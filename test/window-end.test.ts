// Holds: Nothing shown is dropped

import { describe, expect, test } from "vitest";
import { compareIds } from "../src/contract/compare-ids.ts";
import { dayMs, epochMs, hourMs, secondMs } from "../src/contract/time.ts";
import { type BillsRequest, Refusal, type WirePage } from "../src/exchange-server/source.ts";
import { type LedgerBill, snowflake } from "../src/sandbox/entry.ts";
import type { AccountBills } from "../src/sandbox/ledger.ts";
import { integer, pick, type Random, seededRandom } from "../src/sandbox/random.ts";
import { sandboxSource } from "../src/sandbox/source.ts";
import { IdOrder, PageHabits } from "../src/sync/walk/answers.ts";
import { type Question, WindowQuestions } from "../src/sync/walk/questions.ts";
import { type Quirks, quirky } from "./faults/quirks.ts";

const productType = "USDT-FUTURES";
const to = epochMs(Date.UTC(2026, 4, 8));
const from = epochMs(to - 7 * dayMs + 1);
const later = epochMs(to + dayMs);

/** Bills of a window by their times. Each id may differ from its time by this much. */
function ledgerOf(random: Random, times: readonly number[], jitterMs = 0): AccountBills {
  const bills = times
    .toSorted((a, b) => a - b)
    .map((time, index): LedgerBill => {
      const cTime = epochMs(time);
      const billId = snowflake(time + integer(random, -jitterMs, jitterMs), index);
      const row = { billId, cTime: String(cTime) };
      return { billId, cTime, visibleAt: cTime, businessType: "buy", coin: "USDT", row };
    });
  return { now: to, bills: { [productType]: bills } as unknown as AccountBills["bills"] };
}

/** Times of a week: some alone, some in bursts, some in one millisecond. */
function drawTimes(random: Random, count: number): readonly number[] {
  const times: number[] = [];
  while (times.length < count) {
    const start = from + Math.floor(random() * (to - from));
    const bills = random() < 0.7 ? 1 : integer(random, 2, 150);
    const spanMs = random() < 0.2 ? 0 : 10 ** (6 * random());
    const inOneMs = Math.min(bills, 60);
    for (let bill = 0; bill < (spanMs === 0 ? inOneMs : bills); bill++) {
      times.push(Math.min(to - 1, start + Math.floor(random() * spanMs)));
    }
  }
  return times;
}

type Lie = (page: WirePage, asked: number, request: BillsRequest) => WirePage;

/** Walks the window to its end. @returns the served ids, and what was requested. */
async function walked(
  ledger: AccountBills,
  quirks: Quirks = {},
  options: { lie?: Lie; cursor?: string; habits?: PageHabits } = {},
) {
  const { lie = (page: WirePage) => page, cursor, habits = new PageHabits() } = options;
  const source = quirky(quirks)(
    sandboxSource({
      accounts: new Map([["1", { ledger, riskUnits: new Map() }]]),
      symbols: () => [],
    }),
  );
  const questions = new WindowQuestions({ to, cursor, order: new IdOrder(), habits });
  const served = new Set<string>();
  const asked: Question[] = [];
  const doubts: string[] = [];
  for (let question = questions.next; question !== undefined; question = questions.next) {
    asked.push(question);
    if (asked.length > 2_000) throw new Error("no end");
    if (questions.hasGivenUp) break;
    const request = requestOf(question);
    const given = await source.bills(request);
    if (given instanceof Refusal) throw new Error(given.msg);
    const page = lie(given, asked.length, request);
    const rows = ((page.bills ?? []) as { billId?: string; cTime?: string }[]).map(
      ({ billId, cTime }) => ({ billId, cTime: cTime ? epochMs(Number(cTime)) : undefined }),
    );
    for (const { billId } of rows) if (billId) served.add(billId);
    const endId = page.endId || undefined;
    const doubt = questions.take({ rows, endId, servedFrom: from });
    if (doubt !== undefined) doubts.push(doubt);
  }
  const bills = ledger.bills[productType];
  const missing = bills.filter(({ billId }) => !served.has(billId));
  return { missing: missing.length, asked, doubts, questions };
}

const requestOf = ({ idLessThan, startTime, endTime, limit }: Question): BillsRequest => ({
  caller: { uid: "1", name: "main" },
  now: later,
  productType,
  coin: undefined,
  businessType: undefined,
  onlyFunding: false,
  idLessThan,
  startTime: startTime ?? epochMs(from - 1),
  endTime,
  horizon: undefined,
  limit,
});

/** What a run knows after it was served a page of 100 rows. */
function hundredAPage(): PageHabits {
  const habits = new PageHabits();
  habits.look(100);
  return habits;
}

const drawQuirks = (random: Random): Quirks => ({
  bounds: pick(random, ["both", "start", "end", "neither"] as const),
  pageOrder: pick(random, ["newest-first", "oldest-first", "shuffled"] as const),
  sortedBy: pick(random, ["time", "id"] as const),
  inclusiveCursor: random() < 0.5,
  shortPages: random() < 0.3,
  shortLastPage: random() < 0.5,
});

describe("a window is read whole", () => {
  const jitters = [0, 1, 20, 300, 1_500, 20 * secondMs, hourMs];

  test.each(jitters)(
    "whatever decides its pages, where ids lie up to %i ms beside their times, and bills come in bursts",
    async (jitterMs) => {
      for (let seed = 0; seed < 60; seed++) {
        const random = seededRandom(`window ${seed} ${jitterMs}`);
        const ledger = ledgerOf(random, drawTimes(random, integer(random, 0, 900)), jitterMs);
        const quirks = drawQuirks(random);
        const { missing, doubts } = await walked(ledger, quirks);
        expect({ seed, quirks, missing, doubts }).toEqual({ seed, quirks, missing: 0, doubts: [] });
      }
    },
  );

  test.each(["time", "id"] as const)(
    "where a millisecond has more bills than a page, whose ids lie an hour apart, sorted by %s",
    async (sortedBy) => {
      const random = seededRandom("dense");
      const times = [0, 1, 2].flatMap((ms) =>
        Array.from({ length: 250 }, () => from + hourMs + ms),
      );
      for (const bounds of ["both", "start", "end", "neither"] as const) {
        const quirks = { sortedBy, bounds };
        const dense = ledgerOf(random, [...times, from, to - 1], hourMs);
        expect((await walked(dense, quirks)).missing).toBe(0);
        const atTheEnd = ledgerOf(random, times);
        expect(await walked(atTheEnd, quirks)).toMatchObject({ missing: 0, doubts: [] });
      }
    },
  );

  test.each<[string, number, Quirks]>([
    ["whole pages", 1, {}],
    // Bills of one millisecond may fill such a page, and hide older ones.
    ["short pages, whose end time is not included", 6, { shortPages: true, bounds: "neither" }],
  ])(
    "where one answer, whichever it is, says falsely that nothing is left: %s",
    async (_, ledgers, quirks) => {
      for (let seed = 0; seed < ledgers; seed++) {
        const random = seededRandom(`false end ${seed}`);
        const ledger = ledgerOf(random, drawTimes(random, 700));
        const sound = await walked(ledger, quirks);
        for (let lie = 1; lie <= sound.asked.length; lie++) {
          const lies: Lie = (page, asked) => (asked === lie ? { bills: [], endId: "" } : page);
          const { missing } = await walked(ledger, quirks, { lie: lies });
          expect([seed, lie, missing]).toEqual([seed, lie, 0]);
        }
      }
    },
  );

  test("where a page in the middle is left out", async () => {
    const random = seededRandom("skipped");
    const ledger = ledgerOf(random, drawTimes(random, 700));
    const pages = new Map<number, WirePage>();
    const { missing, doubts } = await walked(
      ledger,
      {},
      {
        lie(page, asked) {
          pages.set(asked, page);
          const rows = page.bills ?? [];
          return asked === 3 ? { ...page, bills: rows.slice(rows.length / 2) } : page;
        },
      },
    );
    expect(missing).toBe(0);
    expect(doubts).toEqual([expect.stringMatching(/^bill \d+ was served before and is missing/)]);
  });

  test("from a cursor that was stored; from its newest page where nothing is served below that", async () => {
    const ledger = ledgerOf(seededRandom("resumed"), drawTimes(seededRandom("resumed"), 700));
    const ids = ledger.bills[productType].map(({ billId }) => billId);
    const middle = ids[350] ?? "";
    const goneOn = await walked(ledger, {}, { cursor: middle });
    expect(goneOn.asked[0]?.idLessThan).toBe(middle);
    expect(goneOn.missing).toBe(ids.length - 350);
    const anew = await walked(ledger, {}, { cursor: ids[0] ?? "" });
    expect(anew.asked.slice(0, 2).map(({ idLessThan }) => idLessThan)).toEqual([ids[0], undefined]);
    expect(anew.missing).toBe(0);
  });
});

describe("of questions a window takes", () => {
  const minute = 60 * secondMs;
  const everyMinute = (count: number) =>
    ledgerOf(
      seededRandom("ordered"),
      Array.from({ length: count }, (_, place) => from + place * minute),
    );

  test.each([
    ["two where it is empty", 0, 2],
    ["one for its page and two at its end", 99, 3],
    ["one more above its newest bill, where no page was longer than its own", 100, 5],
    [
      "one a page and two at its end, where a page serves one bill of the page before again",
      297,
      5,
    ],
  ])("%s", async (_title, bills, questions) => {
    const { asked } = await walked(everyMinute(bills), {}, { habits: hundredAPage() });
    expect(asked).toHaveLength(questions);
  });

  test("an exchange's clock, or ids some milliseconds beside their times, cost no second walk", async () => {
    const times = Array.from({ length: 950 }, (_, place) => from + place * minute);
    const { asked, missing } = await walked(ledgerOf(seededRandom("near"), times, 300));
    expect([asked.length, missing]).toEqual([12, 0]);
  });
});

describe("an answer is not believed", () => {
  test("that ends a window below a page of one row, after another answer had the next bill", async () => {
    const times = [1, 2, 3, 4].map((hours) => to - hours * hourMs);
    const ledger = ledgerOf(seededRandom("one row"), times);
    const lie: Lie = (page, asked) => (asked === 4 ? { bills: [], endId: "" } : page);
    const walk = await walked(ledger, { pageRows: 1 }, { lie });
    expect(walk.questions.hasGivenUp).toBe(true);
    expect(walk.doubts.join()).toMatch(/served before and is missing/);
  });

  test("whose rows have no id to go on by, and fill a page", () => {
    const questions = new WindowQuestions({ to, order: new IdOrder(), habits: new PageHabits() });
    const rows = Array.from({ length: 100 }, () => ({ billId: undefined, cTime: undefined }));
    const answer = { rows, endId: undefined, servedFrom: from };
    expect(questions.take(answer)).toMatch(/no row of a full page has an id/);
    const short = { ...answer, rows: rows.slice(1) };
    expect(questions.take(short)).toBe(undefined);
  });
});

test("ids are ordered by their value, however long they are", () => {
  const ids = ["9", "10", "1234567890123456788", "1234567890123456789", "99999999999999999999"];
  expect(ids.toReversed().toSorted(compareIds)).toEqual(ids);
  expect(compareIds("007", "7")).toBe(0);
});
