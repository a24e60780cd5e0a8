// Holds: Nothing shown is dropped
// Bills that were booked days after their times are stored and named, and fail no window.

import { describe, expect, test } from "vitest";
import { compareIds } from "../src/core/contract/bill.ts";
import { Refusal } from "../src/core/server/answer.ts";
import type { FetchedPage } from "../src/core/sync/ledger-reader.ts";
import { IdTimeOrder, PageLengths, type Question } from "../src/core/sync/walk/answers.ts";
import type { PageRequest } from "../src/core/sync/walk/pages.ts";
import { WindowQuestions } from "../src/core/sync/walk/questions.ts";
import { type Interval, lengthMs, subtract } from "../src/core/words/intervals.ts";
import type { PlannedWindow } from "../src/core/words/ledger.ts";
import { beginsAnew, type PageCommit } from "../src/core/words/page.ts";
import { ContradictionError } from "../src/lib/errors.ts";
import { dayMs, epochMs, hourMs, minuteMs, retentionMs, secondMs } from "../src/lib/time.ts";
import { type LedgerBill, snowflake } from "../src/wings/sandbox/entry.ts";
import type { BillsRequest, WirePage } from "../src/wings/sandbox/exchange/source.ts";
import type { AccountBills } from "../src/wings/sandbox/ledger.ts";
import { integer, pick, type Random, seededRandom } from "../src/wings/sandbox/random.ts";
import { sandboxSource } from "../src/wings/sandbox/source.ts";
import { type Quirks, quirky } from "./exchange/quirks.ts";
import { type WalkDeps, walkWindow } from "./support/walk-window.ts";

const ledger = { account: "main", productType: "USDT-FUTURES" } as const;
const noon = Date.UTC(2026, 5, 1, 12);

const nothing = { rows: [], rowTexts: () => [], endId: undefined };
const day = { from: epochMs(noon - dayMs), to: epochMs(noon) };

/** Walks a window of such answers, at noon by the exchange's clock. */
function walkOf(
  answer: (request: PageRequest) => Partial<FetchedPage>,
  walk: PlannedWindow,
  but: Partial<WalkDeps> = {},
) {
  const commits: PageCommit[] = [];
  const asked: PageRequest[] = [];
  const walking = walkWindow(
    {
      async ask(request) {
        const sent = request();
        asked.push(sent);
        return { ...nothing, requestTime: day.to, ...answer(sent) };
      },
      async commitPage(page) {
        commits.push(page);
      },
      exchangeNow: () => day.to,
      plannedAt: day.to,
      settleLagMs: 0,
      ...but,
    },
    ledger,
    walk,
  );
  walking.catch(() => undefined);
  return { walking, commits, asked };
}

const row = {
  billId: "1234567890123456789",
  symbol: "BTCUSDT",
  amount: "1",
  fee: "0",
  feeByCoupon: "",
  businessType: "buy",
  coin: "USDT",
  balance: "1",
  cTime: String(noon - hourMs),
};

/** The answer of an exchange that has these rows. */
function served(rows: readonly { billId?: string; cTime: string }[], request: PageRequest) {
  const { startTime, endTime, idLessThan, limit } = request;
  const matching = rows
    .filter(({ cTime }) => Number(cTime) >= startTime && Number(cTime) <= endTime)
    .filter(({ billId = "98" }) => idLessThan === undefined || BigInt(billId) < BigInt(idLessThan))
    .toSorted((a, b) => Number(b.cTime) - Number(a.cTime))
    .slice(0, limit);
  return { ...nothing, rows: matching, endId: matching.at(-1)?.billId };
}

// Answers may set the clock forward and back. Nothing is claimed about what a jump made later.
test.each([
  ["the plan was made, though the clock jumped ahead since", { plannedAt: noon }],
  ["its first page was asked for, and taken", { begunAt: noon }],
  ["it ended, though all before was by a clock that was ahead", { endedAt: noon }],
])("a walk claims no time but what was settled when %s", async (_, times) => {
  const ahead = noon + 2 * hourMs;
  const at = { plannedAt: ahead, begunAt: ahead, endedAt: ahead, ...times };
  let now = at.begunAt;
  const window = { from: day.from, to: epochMs(ahead) };
  const { walking, commits } = walkOf(
    () => {
      const requestTime = epochMs(now);
      now = at.endedAt;
      return { requestTime };
    },
    { window },
    {
      exchangeNow: () => epochMs(now),
      plannedAt: epochMs(at.plannedAt),
      settleLagMs: 10 * minuteMs,
    },
  );
  await walking;
  const proven = [{ from: window.from, to: noon - 10 * minuteMs }];
  expect(commits.at(-1)?.next).toEqual({ end: { proven, lost: [] } });
});

test("nothing is claimed that is newer than the first page by the exchange's own clock, however late it is reckoned to be", async () => {
  const takenAt = epochMs(noon - 2 * secondMs);
  const times = [takenAt].values();
  const { walking, commits } = walkOf(
    (request) => {
      const requestTime = times.next().value ?? day.to;
      return { ...served([row], request), requestTime };
    },
    { window: day },
  );
  await walking;
  expect(commits).toMatchObject([
    { startedAt: takenAt },
    { startedAt: takenAt, next: { end: { proven: [{ from: day.from, to: takenAt }] } } },
  ]);
});

/** Walks the day before noon, the first of the history. After a page, the horizon has passed its start by this much. */
async function walkPastHorizon(pastMs: number) {
  let now = noon + dayMs;
  const { walking, commits } = walkOf(
    (request) => {
      const requestTime = epochMs(now);
      now = noon - dayMs + pastMs + retentionMs;
      return { ...served([row], request), requestTime };
    },
    { window: day, isLedgerStart: true },
    { exchangeNow: () => epochMs(now), plannedAt: epochMs(now) },
  );
  await walking;
  return commits.at(-1)?.next;
}

test("the start of the history that passes the horizon is no loss within a slack, and one beyond it", async () => {
  expect(await walkPastHorizon(hourMs)).toMatchObject({ end: { lost: [] } });
  expect(await walkPastHorizon(3 * hourMs)).toMatchObject({
    end: { lost: [{ from: noon - dayMs }] },
  });
});

type Pages = (request: PageRequest) => Pick<FetchedPage, "rows" | "endId">;

/** Walks a day of such pages. */
function walkPages(pages: Pages) {
  const pauses: number[] = [];
  const doubts: string[] = [];
  const walked = walkOf(
    pages,
    { window: day },
    {
      async pause() {
        pauses.push(walked.asked.length);
      },
      tell: (what) => void doubts.push(what),
    },
  );
  const stored = () => walked.commits.flatMap(({ bills }) => bills.map(({ billId }) => billId));
  return { ...walked, stored, doubts, pauses };
}

const billOf = (id: number) => ({
  ...row,
  billId: String(id),
  cTime: String(noon - hourMs + id * 10),
});
const billsOf = (count: number) => Array.from({ length: count }, (_, place) => billOf(place + 1));

test("a row without an id may be its page's final bill: the page's cursor is all there is to go on by", async () => {
  const { billId: _, ...withoutId } = billOf(98);
  const { walking, stored, asked } = walkPages((request) => {
    const page = served([withoutId, billOf(97)], { ...request, limit: 1 });
    return { ...page, endId: page.endId ?? "98" };
  });
  await walking;
  expect(asked.slice(0, 2).map(({ idLessThan }) => idLessThan)).toEqual([undefined, "98"]);
  expect(stored()).toContain("97");
});

test("a page of another time is refused where a row that broke the contract tells so", async () => {
  const old = { ...billOf(97), amount: "abc", cTime: String(noon - 12 * dayMs) };
  const { walking } = walkPages(() => ({ rows: [old], endId: "97" }));
  await expect(walking).rejects.toThrow(/the page was not stored: bill 97 of 2026-05-20/);
});

/** Bills of which some were booked after their times: they are served among those of their booking. */
function lateBills(count: number, late: readonly number[], lateMs = 10 * dayMs) {
  const booked = billsOf(count);
  const rows = booked.map((bill) =>
    late.includes(Number(bill.billId))
      ? { ...bill, cTime: String(Number(bill.cTime) - lateMs) }
      : bill,
  );
  const asServed = new Map(rows.map((bill) => [bill.billId, bill]));
  return (request: PageRequest) => {
    const page = served(booked, request);
    return { ...page, rows: page.rows.map((bill) => asServed.get(bill.billId ?? "")) };
  };
}

const all = billsOf(250).map(({ billId }) => Number(billId));
test.each<[string, number, readonly number[], number]>([
  ["ten days late, in the middle of a page", 71, [30, 50], 10 * dayMs],
  ["ten days late, also at pages' ends", 250, [2, 51, 151, 200, 249, 250], 10 * dayMs],
  ["five minutes late, the first of all", 71, [1], 5 * minuteMs],
  ["five minutes late, all of them", 250, all, 5 * minuteMs],
])(
  "a window is read where bills were booked %s; those of another window are named",
  async (_, count, late, lateMs) => {
    const { walking, stored, commits, doubts } = walkPages(lateBills(count, late, lateMs));
    await walking;
    expect(new Set(stored()).size).toBe(count);
    expect(commits.at(-1)?.next).toHaveProperty("end");
    if (lateMs < dayMs) return;
    for (const id of late) expect(doubts.join("\n")).toContain(`bill ${id} of 2026-05-22`);
  },
);

test("a window whose lowest bill is of another time is stored, and not called read", async () => {
  const { walking, stored, commits } = walkPages(lateBills(71, [1, 50]));
  await expect(walking).rejects.toThrow(
    /bill 1 of 2026-05-22.* came in answer to .* the window stays unread/,
  );
  expect(stored()).toHaveLength(71);
  expect(commits.every(({ next }) => "cursor" in next)).toBe(true);
});

test("a window of which nothing was served is asked about again after a pause, and no other one", async () => {
  const empty = walkPages(() => ({ rows: [], endId: undefined }));
  await empty.walking;
  expect([empty.asked.length, empty.pauses]).toEqual([2, [1]]);
  const full = walkPages((request) => served(billsOf(120), request));
  await full.walking;
  expect(full.pauses).toEqual([]);
});

test("no question goes past a window's end, where its first bill is of that millisecond", async () => {
  for (const before of [0, 1, 5]) {
    const rows = [...billsOf(before), { ...billOf(98), cTime: String(noon) }];
    const { walking, stored, asked } = walkPages((request) =>
      served(rows, { ...request, limit: 8 }),
    );
    await walking;
    expect(Math.max(...asked.map(({ endTime }) => endTime))).toBe(noon);
    expect(new Set(stored()).size).toBe(rows.length);
  }
});

test("what a page's overlap serves again is handed on once, unless it changed", async () => {
  const rows = billsOf(250);
  const once = walkPages((request) => served(rows, request));
  await once.walking;
  expect(once.stored()).toHaveLength(250);
  const changed = rows.map((bill) => ({ ...bill, amount: "2" }));
  let answers = 0;
  const restated = walkPages((request) => served(answers++ === 0 ? rows : changed, request));
  await restated.walking;
  // Ten bills of the first page, and the oldest once more at the end, where it was served before.
  expect(restated.stored()).toHaveLength(260);
});

test.each([
  ["a bill", { amount: "2" }],
  ["a row that breaks the contract", { amount: "broken" }],
])(
  "what is served last is handed on last, where a server that lags serves %s as it was",
  async (_, change) => {
    const rows = billsOf(150);
    const last = new Map<string, string>();
    let answers = 0;
    const { walking, commits } = walkPages((request) => {
      answers += 1;
      const content = rows.map((bill) => (answers % 2 === 0 ? bill : { ...bill, ...change }));
      const page = served(content, request);
      for (const bill of page.rows) last.set(bill.billId ?? "", JSON.stringify(bill));
      return { ...page, rowTexts: () => page.rows.map((bill) => JSON.stringify(bill)) };
    });
    await walking;
    const handedOn = new Map<unknown, string>();
    for (const { bills, rejected } of commits) {
      for (const { billId, amount } of bills) handedOn.set(billId, amount);
      for (const { text } of rejected)
        handedOn.set(JSON.parse(text).billId, JSON.parse(text).amount);
    }
    const lastServed = [...last].map(([id, text]) => [id, JSON.parse(text).amount]);
    expect([...handedOn].toSorted()).toEqual(lastServed.toSorted());
  },
);

describe("a window that another walk has handed back is not called read", () => {
  const minuteOf = (id: number) => noon - (300 - id) * minuteMs;
  const everyMinute = Array.from({ length: 300 }, (_, place) => {
    const id = place + 1;
    return { ...row, billId: String(id * 1_000), cTime: String(minuteOf(id)) };
  });

  /** Walks what is newer than the bill of the 50th minute, of six hours. @returns the bills of read time that it did not store. */
  async function unreadOf(rows: readonly (typeof row)[], pages: Pages) {
    const window = { from: epochMs(minuteOf(50)), to: day.to };
    const { walking, commits } = walkOf(pages, { window, askFrom: day.from });
    await walking;
    expect(commits.at(-1)?.next).toEqual({ end: { proven: [window], lost: [] } });
    const stored = new Set(commits.flatMap(({ bills }) => bills.map(({ billId }) => billId)));
    return rows.filter(({ billId, cTime }) => Number(cTime) >= window.from && !stored.has(billId));
  }

  test("by a page that ends with an older bill, which was booked late", async () => {
    for (let late = 95; late <= 105; late++) {
      const asServed = everyMinute.map((bill, place) =>
        place + 1 === late ? { ...bill, cTime: String(noon - 10 * hourMs) } : bill,
      );
      const unread = await unreadOf(asServed, (request) => {
        const page = served(everyMinute, request);
        return {
          ...page,
          rows: page.rows.map(({ billId }) => asServed[Number(billId) / 1_000 - 1]),
        };
      });
      expect([late, unread]).toEqual([late, []]);
    }
  });

  test("by older bills of the last seconds before it: a newer bill may have a lower id", async () => {
    const crowd = Array.from({ length: 250 }, (_, place) => ({
      ...row,
      billId: String(49_100 + place),
      cTime: String(minuteOf(50) - 250 + place),
    }));
    const odd = { ...row, billId: "49050", cTime: String(minuteOf(50) + 900) };
    const rows = [...everyMinute, ...crowd, odd];
    const byId = (request: PageRequest) => {
      const { startTime, endTime, idLessThan = "1000000", limit } = request;
      const page = rows
        .filter(({ cTime }) => Number(cTime) >= startTime && Number(cTime) <= endTime)
        .filter(({ billId }) => Number(billId) < Number(idLessThan))
        .toSorted((a, b) => Number(b.billId) - Number(a.billId))
        .slice(0, limit);
      return { ...nothing, rows: page, endId: page.at(-1)?.billId };
    };
    expect(await unreadOf(rows, byId)).toEqual([]);
  });

  test("by a page that begins with the oldest bills", async () => {
    const oldestFirst = (request: PageRequest) => {
      const page = served(everyMinute, { ...request, limit: 1_000 }).rows;
      return { ...nothing, rows: page.slice(-request.limit), endId: page.at(-1)?.billId };
    };
    await expect(unreadOf(everyMinute, oldestFirst)).rejects.toThrow(ContradictionError);
  });
});

test("a window whose ids do not follow the times is to be walked anew by the next run", async () => {
  const rows = billsOf(256);
  const swapped = rows.map((bill, place) => ({
    ...bill,
    billId: rows[place ^ 15]?.billId ?? "300",
  }));
  const { walking, commits, stored } = walkPages((request) => served(swapped, request));
  await walking;
  expect(new Set(stored()).size).toBe(256);
  const places = commits.flatMap(({ next }) => ("cursor" in next ? [next.cursor ?? ""] : []));
  expect(places.some(beginsAnew)).toBe(true);
});

describe("an answer that contradicts another", () => {
  test("is asked for again, told, and read on where it is right then", async () => {
    const rows = billsOf(250);
    let answers = 0;
    const { walking, stored, doubts, asked } = walkPages((request) => {
      answers += 1;
      return answers === 2 || answers === 3 ? nothing : served(rows, request);
    });
    await walking;
    expect(stored()).toHaveLength(250);
    expect(doubts).toHaveLength(2);
    expect(asked.slice(1, 4)).toEqual([asked[1], asked[1], asked[1]]);
  });

  test.each<[string, number, readonly number[]]>([
    ["of its millisecond", 30, [0]],
    ["of its millisecond, on a page of five", 5, [0]],
    ["a millisecond later", 30, [1]],
    ["of its millisecond, and another a millisecond later", 30, [0, 1]],
  ])(
    "because it lacks the oldest bill is asked for five times, though it has one %s",
    async (_, count, laterMs) => {
      const newer = billsOf(count).slice(3);
      const oldest = { ...billOf(1), cTime: billOf(2).cTime };
      const others = laterMs.map((ms) => ({
        ...billOf(2 + ms),
        cTime: String(Number(oldest.cTime) + ms),
      }));
      let answers = 0;
      const { walking, commits, asked } = walkPages((request) => {
        answers += 1;
        return served([...(answers === 1 ? [oldest] : others), ...newer], request);
      });
      await expect(walking).rejects.toThrow(
        /bill 1 was served before and is missing.* 5 times; the window stays unread/,
      );
      expect(asked.length).toBeLessThan(12);
      expect(commits.every(({ next }) => "cursor" in next)).toBe(true);
    },
  );

  test("because it lacks the oldest bill is read on where the bill's id finds it: others of its millisecond may fill a page", async () => {
    const rows = billsOf(190).map((bill, place) =>
      place < 90 ? { ...bill, cTime: billOf(1).cTime } : { ...bill, billId: `${bill.billId}000` },
    );
    const { walking, stored, commits, doubts } = walkPages((request) =>
      served(rows.toReversed(), { ...request, limit: request.limit === 100 ? 100 : 30 }),
    );
    await walking;
    expect(new Set(stored()).size).toBe(190);
    expect(doubts).toEqual([expect.stringContaining("bill 1 was served before and is missing")]);
    expect(commits.at(-1)?.next).toHaveProperty("end");
  });

  const twice = (request: PageRequest) => {
    const page = served(billsOf(20), request);
    const again = { ...billOf(7), amount: "7" };
    const isServed = page.rows.some((row) => (row as { billId?: string }).billId === "7");
    return { ...page, rows: isServed ? [...page.rows, again] : page.rows };
  };

  test("because it has one bill twice, with other content, is asked for again, and read on where it is right then", async () => {
    let answers = 0;
    const { walking, stored, doubts } = walkPages((request) => {
      answers += 1;
      return answers === 1 ? twice(request) : served(billsOf(20), request);
    });
    await walking;
    expect(stored().filter((id) => id === "7")).toEqual(["7"]);
    expect(new Set(stored()).size).toBe(20);
    expect(doubts).toEqual([
      expect.stringContaining("itself: bill 7 is in it twice, with other content"),
    ]);
  });

  test("because it always has one bill twice is an error that names it: the others are stored, and it is not", async () => {
    const { walking, commits } = walkPages(twice);
    await expect(walking).rejects.toThrow(/bill 7 is in it twice, with other content.* 5 times/);
    const stored = commits.flatMap(({ bills }) => bills.map(({ billId }) => billId));
    expect(new Set(stored).size).toBe(19);
    expect(stored).not.toContain("7");
    expect(commits.every(({ next }) => "cursor" in next)).toBe(true);
  });

  test("five times in a row is an error that says so; nothing is claimed, and the next run begins anew", async () => {
    const rows = billsOf(250);
    const { walking, commits, asked } = walkPages((request) =>
      request.idLessThan === undefined && request.limit === 100 ? served(rows, request) : nothing,
    );
    await expect(walking).rejects.toThrow(ContradictionError);
    await expect(walking).rejects.toThrow(
      /bill \d+ was served before and is missing.* 5 times; the window stays unread/,
    );
    expect(asked).toHaveLength(6);
    const [last] = commits.slice(-1).map(({ next }) => ("cursor" in next ? next.cursor : "end"));
    expect(last).toSatisfy(beginsAnew);
  });
});

describe("the questions of a window", () => {
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

  /** Bills of these times and ids. */
  function ledgerWith(bills: readonly (readonly number[])[]): AccountBills {
    const rows = bills.map(([time = 0, id]) => {
      const row = { billId: String(id), cTime: String(time) };
      const cTime = epochMs(time);
      return { ...row, cTime, visibleAt: cTime, businessType: "buy", coin: "USDT", row };
    });
    return { now: to, bills: { [productType]: rows } } as unknown as AccountBills;
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

  const sourceOf = (ledger: AccountBills, quirks: Quirks) =>
    quirky(quirks)(
      sandboxSource({
        accounts: new Map([["1", { ledger, riskUnits: new Map() }]]),
        symbols: [],
        contracts: () => [],
      }),
    );

  /** Walks the window to its end. @returns the served ids, and what was requested. */
  async function walked(
    ledger: AccountBills,
    quirks: Quirks = {},
    options: { lie?: Lie; cursor?: string; lengths?: PageLengths } = {},
  ) {
    const { lie = (page: WirePage) => page, cursor, lengths = new PageLengths() } = options;
    const source = sourceOf(ledger, quirks);
    const questions = new WindowQuestions({ to, cursor, order: new IdTimeOrder(), lengths });
    const served = new Set<string>();
    const asked: Question[] = [];
    const doubts: string[] = [];
    for (let question = questions.next; question !== undefined; question = questions.next) {
      asked.push(question);
      if (asked.length > 2_000) throw new Error("no end");
      const request = requestOf(question);
      const given = await source.bills(request);
      if (given instanceof Refusal) throw new Error(given.msg);
      const page = lie(given, asked.length, request);
      const rows = ((page.bills ?? []) as { billId?: string; cTime?: string }[]).map(
        ({ billId, cTime }) => ({ billId, cTime: cTime ? epochMs(Number(cTime)) : undefined }),
      );
      for (const { billId } of rows) if (billId) served.add(billId);
      const endId = page.endId || undefined;
      const doubt = questions.advance({ rows, endId, servedFrom: from });
      if (doubt !== undefined) doubts.push(doubt);
    }
    const missing = ledger.bills[productType].filter(({ billId }) => !served.has(billId));
    return { missing: missing.length, asked, doubts, questions };
  }

  /**
   * Walks the window, and the parts that its walks hand back.
   * @returns the bills that were not stored when their time was called complete, the time that never was, and how many
   *   windows and questions there were.
   */
  async function walkedInParts(
    bills: AccountBills,
    quirks: Quirks,
    partsOf: (pages: number) => number,
  ) {
    const source = sourceOf(bills, quirks);
    const stored = new Set<string>();
    const missing: string[] = [];
    const proven: Interval[] = [];
    const walks: PlannedWindow[] = [{ window: { from, to } }];
    const deps = { pageLengths: new PageLengths() };
    let asked = 0;
    for (const walk of walks) {
      const walked = walkOf(() => ({}), walk, {
        ...deps,
        async ask(request) {
          asked += 1;
          const page = await source.bills(requestOf(request()));
          if (page instanceof Refusal) throw new Error(page.msg);
          const rows = (page.bills ?? []).map((given) => ({ ...row, ...(given as object) }));
          return { ...nothing, rows, endId: page.endId || undefined, requestTime: later };
        },
        async commitPage(page) {
          for (const { billId } of page.bills) stored.add(billId);
          const ends = "end" in page.next ? page.next.end.proven : [];
          proven.push(...ends);
          const isProven = (time: number) => ends.some((one) => time >= one.from && time < one.to);
          const unstored = bills.bills[productType].filter(({ billId }) => !stored.has(billId));
          missing.push(
            ...unstored.filter(({ cTime }) => isProven(cTime)).map(({ billId }) => billId),
          );
        },
        exchangeNow: () => later,
        plannedAt: later,
        partsWanted: partsOf,
        begin: (part) => void walks.push(part),
      });
      await walked.walking;
    }
    const unread = subtract([{ from, to }], proven);
    return {
      missing,
      unread,
      overlap: lengthMs(proven) - (to - from),
      windows: walks.length,
      asked,
    };
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

  /** What a run knows after it was served a page of so many rows. */
  function pagesOf(rows: number): PageLengths {
    const lengths = new PageLengths();
    lengths.learnFrom(rows);
    return lengths;
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
          // Where pages are short at random, bills of one millisecond may hide its witness.
          const seen = quirks.shortPages ? [] : doubts;
          expect({ seed, quirks, missing, seen }).toEqual({ seed, quirks, missing: 0, seen: [] });
        }
      },
    );

    test.each(jitters)(
      "and in parts, where its walk hands the rest of it back, and ids lie up to %i ms beside their times",
      async (jitterMs) => {
        let parts = 0;
        for (let seed = 0; seed < 40; seed++) {
          const random = seededRandom(`parts ${seed} ${jitterMs}`);
          const ledger = ledgerOf(random, drawTimes(random, integer(random, 300, 900)), jitterMs);
          const quirks = { ...drawQuirks(random), pageRows: integer(random, 12, 100) };
          const partsOf = (pages: number) => (pages >= 2 ? integer(random, 1, 4) : 1);
          const { windows, asked, ...wrong } = await walkedInParts(ledger, quirks, partsOf);
          parts += windows;
          const right = { missing: [], unread: [], overlap: 0 };
          expect({ seed, quirks, ...wrong }).toEqual({ seed, quirks, ...right });
        }
        expect(parts).toBeGreaterThan(100);
      },
    );

    test("whose pages have three to twelve rows, where ids lie up to an hour beside their times", async () => {
      for (let seed = 0; seed < 60; seed++) {
        const random = seededRandom(`few rows ${seed}`);
        const ledger = ledgerOf(random, drawTimes(random, 200), pick(random, jitters));
        const quirks = { ...drawQuirks(random), shortPages: false };
        const { missing } = await walked(ledger, { ...quirks, pageRows: integer(random, 3, 12) });
        expect([seed, missing]).toEqual([seed, 0]);
      }
    });

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

    test("where a page ends within a millisecond, and an older bill has a higher id than the next one begins with", async () => {
      const crowd = Array.from({ length: 120 }, (_, place) => [to - hourMs, 1_000 + 2 * place]);
      const older = [
        [to - 3 * hourMs, 500],
        [to - 2 * hourMs, 1_101],
      ];
      const ledger = ledgerWith([...older, ...crowd]);
      expect((await walked(ledger, { sortedBy: "time" })).missing).toBe(0);
    });

    test("where a newer bill has nearly the lowest id of a millisecond with more bills than a page", async () => {
      const crowd = Array.from({ length: 279 }, (_, place) => [from + 4, 10_000 + place]);
      const ledger = ledgerWith([[from + 4, 500], ...crowd, [from + 30, 1_000]]);
      expect((await walked(ledger, { sortedBy: "time" })).missing).toBe(0);
    });

    test("where only two pages together show that ids do not follow the times", async () => {
      const ids = [1_400, 1_600, 1_500, 2_100, 2_200, 2_300, 2_400];
      const ledger = ledgerWith(ids.map((id, place) => [from + place * secondMs, id]));
      expect((await walked(ledger, { sortedBy: "time", pageRows: 5 })).missing).toBe(0);
    });

    test.each<[string, number, Quirks, number?]>([
      ["whole pages", 1, {}],
      [
        "whole pages, without the end time's bills, ids an hour beside their times",
        3,
        { bounds: "start" },
        hourMs,
      ],
      // Bills of one millisecond may fill such a page, and hide older ones.
      ["short pages, whose end time is not included", 6, { shortPages: true, bounds: "neither" }],
    ])(
      "where one answer, whichever it is, says falsely that nothing is left: %s",
      async (_, ledgers, quirks, jitterMs) => {
        for (let seed = 0; seed < ledgers; seed++) {
          const random = seededRandom(`false end ${seed}`);
          const ledger = ledgerOf(random, drawTimes(random, 700), jitterMs);
          const sound = await walked(ledger, quirks);
          for (let lie = 1; lie <= sound.asked.length; lie++) {
            const lies: Lie = (page, asked) => (asked === lie ? { bills: [], endId: "" } : page);
            const { missing } = await walked(ledger, quirks, { lie: lies });
            expect([seed, lie, missing]).toEqual([seed, lie, 0]);
          }
        }
      },
    );

    test("from a cursor that was stored; from its newest page where nothing is served below that", async () => {
      const ledger = ledgerOf(seededRandom("resumed"), drawTimes(seededRandom("resumed"), 700));
      const ids = ledger.bills[productType].map(({ billId }) => billId);
      const middle = ids[350] ?? "";
      const goneOn = await walked(ledger, {}, { cursor: middle });
      expect(goneOn.asked[0]?.idLessThan).toBe(middle);
      expect(goneOn.missing).toBe(ids.length - 350);
      const anew = await walked(ledger, {}, { cursor: ids[0] ?? "" });
      expect(anew.asked.slice(0, 2).map(({ idLessThan }) => idLessThan)).toEqual([
        ids[0],
        undefined,
      ]);
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

    test.each<[string, number, number, number?]>([
      ["two where it is empty", 0, 2],
      ["one for its page and two at its end", 99, 3],
      ["one more above its newest bill, where no page was longer than its own", 100, 4],
      ["the same in an hour's window, where a run has seen eight bills at most", 20, 4, 8],
      ["none more for a few bills", 7, 3, 8],
      [
        "one a page and two at its end, where a page serves one bill of the page before again",
        297,
        5,
      ],
    ])("%s", async (_title, bills, questions, longest = 100) => {
      const lengths = pagesOf(longest);
      const { asked } = await walked(everyMinute(bills), {}, { lengths });
      expect(asked).toHaveLength(questions);
    });
  });

  test("a part takes half a question more: its walk ends with the page that has older bills", async () => {
    const random = seededRandom("dense");
    const times = Array.from({ length: 9_000 }, () => from + Math.floor(random() * (to - from)));
    const ledger = ledgerOf(random, times);
    const whole = await walkedInParts(ledger, {}, () => 1);
    const parts = await walkedInParts(ledger, {}, (pages) => (pages > 80 ? 9 : 1));
    expect(parts).toMatchObject({ windows: 9, missing: [], unread: [], overlap: 0 });
    expect(parts.asked).toBeLessThanOrEqual(whole.asked + 8);
  });

  describe("an answer is not believed", () => {
    test("whose rows have no id to go on by, and fill a page", () => {
      const questions = new WindowQuestions({
        to,
        order: new IdTimeOrder(),
        lengths: new PageLengths(),
      });
      const rows = Array.from({ length: 100 }, () => ({ billId: undefined, cTime: undefined }));
      const answer = { rows, endId: undefined, servedFrom: from };
      expect(questions.advance(answer)).toMatch(/no row of a full page has an id/);
      expect(questions.advance({ ...answer, rows: rows.slice(1) })).toBe(undefined);
    });
  });

  test("ids are ordered by their value, however long they are", () => {
    const ids = ["9", "10", "1234567890123456788", "1234567890123456789", "99999999999999999999"];
    expect(ids.toReversed().toSorted(compareIds)).toEqual(ids);
    expect(compareIds("007", "7")).toBe(0);
  });
});
