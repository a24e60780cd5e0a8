import { expect, test } from "vitest";
import { dayMs, epochMs, historyMs, hourMs, minuteMs, secondMs } from "../src/contract/time.ts";
import type { PageCommit } from "../src/sync/store.ts";
import { type Divide, type PageRequest, walkWindow } from "../src/sync/walk.ts";

const stream = { account: "main", productType: "USDT-FUTURES" } as const;
const noon = Date.UTC(2026, 5, 1, 12);

test("a clock that is set back during a walk takes the claim back with it", async () => {
  let now = noon + 2 * hourMs;
  const commits: PageCommit[] = [];
  const window = { from: epochMs(noon - dayMs), to: epochMs(noon + 2 * hourMs) };
  await walkWindow(
    {
      async fetchPage(request) {
        request();
        now = noon;
        return { ...nothing, requestTime: epochMs(now) };
      },
      async commitPage(page) {
        commits.push(page);
        return { new: 0, unchanged: 0, restated: 0, rejected: 0 };
      },
      exchangeNow: () => epochMs(now),
      plannedAt: epochMs(now),
      settleLagMs: 10 * minuteMs,
      onPage: () => undefined,
      signal: new AbortController().signal,
    },
    stream,
    { window },
  );
  const proven = [{ from: window.from, to: noon - 10 * minuteMs }];
  expect(commits.map(({ next }) => next)).toEqual([{ end: { proven, expired: [] } }]);
});

test("nothing is claimed that is newer than the first page by the exchange's own clock, however late it is reckoned to be", async () => {
  const commits: PageCommit[] = [];
  const window = { from: epochMs(noon - dayMs), to: epochMs(noon) };
  const takenAt = epochMs(noon - 2 * secondMs);
  const pages = [
    { ...aPage, requestTime: takenAt },
    { ...nothing, requestTime: epochMs(noon) },
  ];
  await walkWindow(
    {
      async fetchPage(request) {
        request();
        return pages[commits.length] ?? expect.unreachable();
      },
      async commitPage(page) {
        commits.push(page);
        return { new: 0, unchanged: 0, restated: 0, rejected: 0 };
      },
      exchangeNow: () => window.to,
      plannedAt: window.to,
      settleLagMs: 0,
      onPage: () => undefined,
      signal: new AbortController().signal,
    },
    stream,
    { window },
  );
  expect(commits).toMatchObject([
    { startedAt: takenAt },
    { startedAt: takenAt, next: { end: { proven: [{ from: window.from, to: takenAt }] } } },
  ]);
});

const nothing = { rows: [], rowTexts: () => [], endId: undefined };

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
const aPage = { ...nothing, rows: [row], endId: row.billId };

/** Walks the day before noon, the first of the history; after a page the horizon passes its start by so much. */
async function walkPastHorizon(divide: Divide, pastMs = 18 * hourMs) {
  let now = noon + dayMs;
  const requests: PageRequest[] = [];
  const commits: PageCommit[] = [];
  await walkWindow(
    {
      async fetchPage(request) {
        requests.push(request());
        const requestTime = epochMs(now);
        if (requests.length > 1) return { ...nothing, requestTime };
        now = noon - dayMs + pastMs + historyMs;
        return { ...aPage, requestTime };
      },
      async commitPage(page) {
        commits.push(page);
        return { new: 0, unchanged: 0, restated: 0, rejected: 0 };
      },
      exchangeNow: () => epochMs(now),
      plannedAt: epochMs(now),
      settleLagMs: 0,
      onPage: () => undefined,
      divide,
      signal: new AbortController().signal,
    },
    stream,
    { window: { from: epochMs(noon - dayMs), to: epochMs(noon) }, isHistoryStart: true },
  );
  const next = commits.at(-1)?.next;
  return { requests, windows: commits.map(({ window }) => window), end: next };
}

test("a walk that left its older part to others asks for the rest alone, and what it loses of that is a loss", async () => {
  const kept = { from: epochMs(noon - 12 * hourMs), to: epochMs(noon) };
  const asked: unknown[] = [];
  const { requests, windows, end } = await walkPastHorizon(async (...given) => {
    asked.push(given);
    return kept;
  });
  const whole = { from: noon - dayMs, to: noon };
  expect(asked).toEqual([[whole, noon - hourMs, 1]]);
  expect(windows).toEqual([whole, kept]);
  const readFrom = requests[1] === undefined ? Number.NaN : requests[1].startTime + 1;
  expect(readFrom).toBeGreaterThan(kept.from);
  expect(end).toEqual({
    end: {
      proven: [{ from: readFrom, to: noon }],
      expired: [{ from: kept.from, to: readFrom }],
    },
  });
});

test("a walk that kept all of its window keeps the start of the history too: there is no loss within a slack", async () => {
  const within = await walkPastHorizon(async (window) => window, hourMs);
  expect(within.end).toMatchObject({ end: { expired: [] } });
  const beyond = await walkPastHorizon(async (window) => window, 3 * hourMs);
  expect(beyond.end).toMatchObject({ end: { expired: [{ from: noon - dayMs }] } });
});

/** Walks a day of such pages, told apart by what they are asked by; the last one is empty. */
async function walkPages(
  pages: ReadonlyMap<string | undefined, { rows: unknown[]; endId: string }>,
) {
  const stored: string[] = [];
  const asked: (string | undefined)[] = [];
  await walkWindow(
    {
      async fetchPage(request) {
        const { idLessThan } = request();
        asked.push(idLessThan);
        const page = { ...nothing, ...pages.get(idLessThan) };
        return { ...page, requestTime: epochMs(noon) };
      },
      async commitPage({ bills }) {
        for (const { billId } of bills) stored.push(billId);
        return { new: 0, unchanged: 0, restated: 0, rejected: 0 };
      },
      exchangeNow: () => epochMs(noon),
      plannedAt: epochMs(noon),
      settleLagMs: 0,
      onPage: () => undefined,
      signal: new AbortController().signal,
    },
    stream,
    { window: { from: epochMs(noon - dayMs), to: epochMs(noon) } },
  );
  return { stored, asked };
}

const billOf = (id: number) => ({ ...row, billId: String(id), cTime: String(noon - hourMs + id) });

test("a cursor that no bill of its page has is not believed because of a row without an id", async () => {
  const { billId: _, ...withoutId } = billOf(98);
  const { stored, asked } = await walkPages(
    new Map([
      [undefined, { rows: [billOf(99), billOf(100), withoutId], endId: "50" }],
      ["99", { rows: [withoutId, billOf(97)], endId: "97" }],
    ]),
  );
  expect(asked).toEqual([undefined, "99", "97"]);
  expect(stored).toEqual(["99", "100", "97"]);
});

test("a row without an id may be its page's final bill: the page's cursor is all there is", async () => {
  const { billId: _, ...withoutId } = billOf(98);
  const { stored, asked } = await walkPages(
    new Map([
      [undefined, { rows: [withoutId], endId: "98" }],
      ["98", { rows: [billOf(97)], endId: "97" }],
    ]),
  );
  expect(asked).toEqual([undefined, "98", "97"]);
  expect(stored).toEqual(["97"]);
});

test("a page of another time is refused where a row that broke the contract tells so", async () => {
  const old = { ...billOf(97), amount: "abc", cTime: String(noon - 12 * dayMs) };
  const pages = new Map([[undefined, { rows: [old], endId: "97" }]]);
  await expect(walkPages(pages)).rejects.toThrow(
    /the page is of another time: bill 97 of 2026-05-20/,
  );
});

test("a page of more rows than a call takes arguments is read", async () => {
  const rows = Array.from({ length: 150_000 }, (_, id) => billOf(150_000 - id));
  const { stored } = await walkPages(new Map([[undefined, { rows, endId: "1" }]]));
  expect(stored).toHaveLength(rows.length);
});
