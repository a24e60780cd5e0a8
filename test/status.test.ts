import { describe, expect, test } from "vitest";
import { statusText } from "../src/commands/status/streams-status.ts";
import type { ProductType } from "../src/contract/product-types.ts";
import {
  dayMs,
  type EpochMs,
  epochMs,
  historyMs,
  hourMs,
  minuteMs,
  secondMs,
} from "../src/contract/time.ts";
import type { AccountStatus, LastRun, StreamStatus } from "../src/health/ledger-status.ts";
import { coverageShare } from "../src/health/stream-times.ts";

const now = epochMs(Date.UTC(2026, 10, 21, 12));
const ago = (ms: number) => epochMs(now - ms);
const between = (fromAgoMs: number, toAgoMs: number) => ({
  from: ago(fromAgoMs),
  to: ago(toAgoMs),
});

/** A stream that was read to its end a minute ago. */
const stream = (changes: Partial<StreamStatus> = {}): StreamStatus => ({
  stream: { account: "main", productType: "USDT-FUTURES" },
  bills: 1_234,
  rejected: 0,
  completeThrough: ago(11 * minuteMs),
  coverage: [between(historyMs, 11 * minuteMs)],
  settling: [between(11 * minuteMs, minuteMs)],
  unproven: [],
  gaps: [],
  lost: [],
  unread: [between(minuteMs, 0)],
  retiredAt: undefined,
  closedAt: undefined,
  closedUnread: [],
  expiresAt: epochMs(now - 11 * minuteMs + historyMs),
  ...changes,
});

const lastRun: LastRun = {
  command: "sync",
  startedAt: ago(hourMs),
  finishedAt: ago(hourMs - 19 * secondMs),
  outcome: "complete",
  error: null,
};

const linesOf = (
  streams: readonly StreamStatus[],
  run: LastRun | null = lastRun,
  accounts: readonly AccountStatus[] = [],
) =>
  statusText(
    { now, lastRun: run ?? undefined, streams, accounts },
    new Set(["main/USDT-FUTURES", "main/COIN-FUTURES"]),
  ).split("\n");

test("a stream's row says through when it is complete, what is settling, missing, lost, and when more is", () => {
  const interrupted = stream({
    stream: { account: "main", productType: "COIN-FUTURES" },
    bills: 9,
    rejected: 2,
    completeThrough: ago(60 * dayMs),
    coverage: [between(80 * dayMs, 60 * dayMs), between(50 * dayMs, 30 * dayMs)],
    settling: [],
    gaps: [between(60 * dayMs, 50 * dayMs), between(30 * dayMs, dayMs)],
    lost: [between(95 * dayMs, 89 * dayMs - hourMs)],
    unread: [between(dayMs, 0)],
    expiresAt: ago(60 * dayMs - historyMs),
  });
  expect(linesOf([stream(), interrupted])).toEqual([
    "main          bills   complete through  coverage  settling  behind  gaps     lost  expires in",
    "USDT-FUTURES  1,234  2026-11-21 11:49Z    100.0%      10 m     1 m     -        -   89 d 23 h",
    "COIN-FUTURES      9  2026-09-22 12:00Z     47.0%         -     1 d  39 d  6 d 1 h        30 d",
    "",
    "last run: sync, 2026-11-21 11:00:00Z to 2026-11-21 11:00:19Z: complete",
  ]);
});

test("before the first sync, it is not read yet, and nothing is being lost", () => {
  const fresh = stream({
    bills: 0,
    completeThrough: undefined,
    coverage: [],
    settling: [],
    unread: [],
    gaps: [between(historyMs - secondMs, 0)],
    expiresAt: undefined,
  });
  expect(linesOf([fresh], null)).toEqual([
    "main          bills  complete through  coverage  settling  behind       gaps  lost  expires in",
    "USDT-FUTURES      0      not read yet      0.0%         -       -  89 d 23 h     -           -",
    "",
    "no run yet",
  ]);
});

test("what is retired is a line an account, and what is not configured is told how it is retired", () => {
  const old = (productType: StreamStatus["stream"]["productType"], retiredAt?: EpochMs) =>
    stream({ stream: { account: "old", productType }, retiredAt });
  const lines = linesOf([
    ...[stream(), old("USDT-FUTURES", ago(dayMs)), old("COIN-FUTURES", ago(dayMs))],
    old("USDC-FUTURES"),
  ]);
  expect(lines.slice(1, 3).map((line) => line.split(" ")[0])).toEqual([
    "main/USDT-FUTURES",
    "old/USDC-FUTURES",
  ]);
  expect(lines.slice(4, 6)).toEqual([
    "old/USDC-FUTURES: not in the configuration, so no sync reads it; to silence this: " +
      "bill-sync accounts retire old --product USDC-FUTURES",
    "old: retired: USDT-FUTURES, COIN-FUTURES, 2,468 bills kept",
  ]);
  expect(linesOf([old("USDT-FUTURES", now)])).toHaveLength(2);
});

test("what expires within the minute does so now, and what is behind the 90 days has passed", () => {
  const cellOf = (expiresAt: number) =>
    linesOf([stream({ expiresAt: epochMs(expiresAt) })])[1]
      ?.split(/ {2,}/)
      .at(-1);
  expect([cellOf(now + secondMs), cellOf(now - secondMs)]).toEqual(["now", "passed"]);
});

describe("the last run", () => {
  const runs: readonly [string, Partial<LastRun>, string][] = [
    [
      "tells its error",
      { outcome: "failed", error: "the host is away" },
      "last run: sync, 2026-11-21 11:00:00Z to 2026-11-21 11:00:19Z: failed (the host is away)",
    ],
    [
      "without an end may be at work",
      { outcome: "running", finishedAt: undefined },
      "last run: sync, 2026-11-21 11:00:00Z: still running, or killed",
    ],
  ];
  test.each(runs)("%s", (_title, changes, expected) => {
    expect(linesOf([stream()], { ...lastRun, ...changes }).at(-1)).toBe(expected);
  });
});

test("coverage is never rounded up to 100 percent, and is 0 where nothing is known", () => {
  const almost = stream({ coverage: [between(historyMs, 1)], settling: [], gaps: [between(1, 0)] });
  expect(linesOf([almost])[1]).toContain(" 99.9% ");
  const nothing = { coverage: [], settling: [], unproven: [], gaps: [], lost: [] };
  expect(coverageShare(nothing)).toBe(0);
  expect(
    coverageShare({
      coverage: [between(9, 8)],
      settling: [between(8, 7)],
      unproven: [between(7, 5)],
      gaps: [between(5, 2)],
      lost: [between(2, 1)],
    }),
  ).toBe(0.5);
});

test("streams of an account that were closed alike are one line, and what differs is told apart", () => {
  const closed = (productType: ProductType, unread: StreamStatus["closedUnread"]) =>
    stream({
      stream: { account: "main", productType },
      settling: [],
      unread: [],
      expiresAt: undefined,
      closedAt: ago(minuteMs),
      closedUnread: unread,
    });
  const tail = [between(11 * minuteMs, minuteMs)];
  const lines = linesOf(
    [closed("USDT-FUTURES", tail), closed("COIN-FUTURES", tail), closed("USDC-FUTURES", [])],
    null,
  );
  expect(lines.slice(5, -1)).toEqual([
    "main/USDT-FUTURES, COIN-FUTURES, USDC-FUTURES: closed 2026-11-21 11:59Z: became unified, complete through 2026-11-21 11:49Z",
    "main/USDT-FUTURES, COIN-FUTURES: not read 2026-11-21 11:49:00Z to 2026-11-21 11:59:00Z; it " +
      "can be read only after the account is switched back",
  ]);
});

test("what was not read of a closed stream, and is behind the 90 days by now, is called lost", () => {
  const closed = stream({
    settling: [],
    unread: [],
    expiresAt: undefined,
    closedAt: ago(50 * dayMs),
    closedUnread: [between(120 * dayMs, 60 * dayMs)],
  });
  expect(linesOf([closed], null).slice(4, -1)).toEqual([
    "main/USDT-FUTURES: not read 2026-07-24 12:00:00Z to 2026-08-23 12:00:01Z: lost, since it " +
      "is older than the exchange's 90 days",
    "main/USDT-FUTURES: not read 2026-08-23 12:00:01Z to 2026-09-22 12:00:00Z; it can be read " +
      "only after the account is switched back",
  ]);
});

test("a stream that is closed says why, up to when it is complete and what was not read; nothing of it expires", () => {
  const closed = stream({
    settling: [],
    unread: [],
    expiresAt: undefined,
    closedAt: ago(minuteMs),
    closedUnread: [between(11 * minuteMs, minuteMs)],
  });
  const account: AccountStatus = {
    account: "main",
    mode: { is: "unified", since: ago(minuteMs) },
    notAvailable: [
      { productType: "UTA-MARGIN", since: ago(dayMs), askedAt: ago(hourMs), reason: "40014: no" },
      { productType: "UTA-OTHER", since: ago(dayMs), askedAt: ago(hourMs), reason: "40014: no" },
    ],
    closed: [],
  };
  expect(linesOf([closed], null, [account])).toEqual([
    "main          bills   complete through  coverage  settling  behind  gaps  lost  expires in",
    "USDT-FUTURES  1,234  2026-11-21 11:49Z     99.9%         -       -     -     -           -",
    "",
    "main/USDT-FUTURES: closed 2026-11-21 11:59Z: became unified, complete through 2026-11-21 11:49Z",
    "main/USDT-FUTURES: not read 2026-11-21 11:49:00Z to 2026-11-21 11:59:00Z; it can be read " +
      "only after the account is switched back",
    "main: a unified account",
    "main: not available to its key: UTA-MARGIN, UTA-OTHER: 40014: no",
    "no run yet",
  ]);
});
