import { expect, test } from "vitest";
import { dayMs, epochMs } from "../src/contract/time.ts";
import { isUnexplained, type Remedy, remedyOf, severityOf } from "../src/page/trust/remedy.ts";
import type { BreakKind } from "../src/reconciliation/breaks.ts";
import type { StreamStatus } from "../src/reports/status.ts";
import { aBreak } from "./support/listed-break.ts";

const now = epochMs(Date.parse("2026-11-23T00:00:00Z"));
const stretch = { from: epochMs(now - 20 * dayMs), to: epochMs(now - 10 * dayMs) };

const ledger = (more: Partial<StreamStatus>): StreamStatus => ({
  ...{ stream: { account: "main", productType: "USDT-FUTURES" }, bills: 10, rejected: 0 },
  ...{ retiredAt: undefined, closedAt: undefined, closedUnread: [] },
  ...{ coverage: [], settling: [], unproven: [], gaps: [], unread: [], lost: [] },
  ...{ completeThrough: undefined, expiresAt: undefined },
  ...more,
});

const factsOf = (streams: readonly StreamStatus[], billsSince = 0) => ({
  now,
  status: { now, lastRun: undefined, accounts: [], streams },
  chains: [
    {
      ...{ account: "main", wallet: "USDT-FUTURES", coin: "USDT", tested: 1, billsSince },
      ...{ at: now, through: now, isOutdated: false },
    },
  ],
  demoChains: [],
});

const whole = factsOf([ledger({})]);
const withHole = factsOf([ledger({ gaps: [stretch] })]);
const withLoss = factsOf([ledger({ lost: [stretch] })]);
const closed = factsOf([ledger({ closedAt: now, closedUnread: [stretch] })]);
const readSince = factsOf([ledger({})], 7);
const elsewhere = factsOf([
  ledger({}),
  ledger({ stream: { account: "main", productType: "USDC-FUTURES" }, gaps: [stretch] }),
]);

type Case = readonly [
  what: string,
  BreakKind,
  ReturnType<typeof factsOf>,
  Remedy,
  severity: "warn" | "bad",
];

const cases: readonly Case[] = [
  ["a bill that is missing", "chain", whole, "repair", "bad"],
  ["a bill that is missing beside a hole", "chain", withHole, "repair", "bad"],
  ["a balance beside a hole", "unread", withHole, "sync", "warn"],
  ["a balance beside a hole that was read since", "unread", readSince, "check", "warn"],
  ["a balance beside a hole that no sync can read", "unread", closed, "repair", "warn"],
  ["a balance beside lost time", "unread", withLoss, "repair", "bad"],
  ["a balance beside no hole", "unread", whole, "repair", "bad"],
  ["a balance beside another ledger's hole", "unread", elsewhere, "repair", "bad"],
  ["rows that are rejected", "quarantine", factsOf([ledger({ rejected: 1 })]), "replay", "warn"],
  ["rows that were rejected", "quarantine", whole, "check", "warn"],
];

test.each(cases)("%s: its remedy and its colour", (_what, kind, facts, remedy, severity) => {
  const entry = aBreak(kind, "1.5", {
    ...{ coin: "USDT", firstBadBill: "1", happenedAt: new Date(now - 5 * dayMs).toISOString() },
  });
  expect([remedyOf(entry, facts), severityOf(entry, facts)]).toEqual([remedy, severity]);
  const isExplained = severity === "warn" || facts === withLoss;
  expect(isUnexplained(entry, facts)).toBe(!isExplained);
});

test("bills that were restated are signed off, and are no sum that is off", () => {
  const entry = aBreak("restatement", "3");
  expect([remedyOf(entry, whole), severityOf(entry, whole)]).toEqual(["sign off", "warn"]);
});

test("what happened before the exchange's 90 days can only be signed off", () => {
  const entry = aBreak("chain", "1", {
    ...{ firstBadBill: "1", happenedAt: new Date(now - 91 * dayMs).toISOString() },
  });
  expect(remedyOf(entry, whole)).toBe("sign off");
});
