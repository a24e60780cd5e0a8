import { expect, test } from "vitest";
import { dayMs, epochMs, hourMs, minuteMs } from "../src/contract/time.ts";
import type { PageCommit } from "../src/sync/store.ts";
import { walkWindow } from "../src/sync/walk.ts";

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
        return { rows: [], endId: undefined, requestTime: epochMs(now) };
      },
      async commitPage(page) {
        commits.push(page);
        return { new: 0, unchanged: 0, restated: 0, rejected: 0 };
      },
      restartWindow: async () => undefined,
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
