import { expect, test } from "vitest";
import { hourMs } from "../src/contract/time.ts";
import { type Trust, type Verdict, verdictOf, verdicts } from "../src/page/trust/headline.ts";

const good: Trust = {
  ledgers: 3,
  demoLedgers: 1,
  isSyncAtWork: false,
  openBreaks: 0,
  unreadBreaks: 0,
  lostMs: 0,
  missingMs: 0,
  neverRead: 0,
  behindMs: 26 * hourMs,
  rejectedRows: 0,
  isReconciled: true,
};

/** From the first that holds to the last: each hides those below it. */
const rule: readonly (readonly [Verdict, Partial<Trust>])[] = [
  ["nothing", { ledgers: 0, demoLedgers: 0 }],
  ["at work", { isSyncAtWork: true }],
  ["breaks", { openBreaks: 1 }],
  ["lost", { lostMs: 1 }],
  ["missing", { missingMs: 1 }],
  ["behind", { behindMs: 26 * hourMs + 1 }],
  ["rejected", { rejectedRows: 1 }],
  ["unreconciled", { isReconciled: false }],
  ["good", {}],
];

test.each(rule)("the headline is %s where that is the worst that holds", (verdict, facts) => {
  expect(verdictOf({ ...good, ...facts })).toBe(verdict);
  const place = rule.findIndex(([name]) => name === verdict);
  const below: Partial<Trust> = Object.assign({}, ...rule.slice(place).map(([, more]) => more));
  expect(verdictOf({ ...good, ...below, ...facts })).toBe(verdict);
});

test("it is green only where a reconcile ran and looked at everything", () => {
  expect(verdictOf({ ...good, openBreaks: undefined })).toBe("unreconciled");
  expect(verdictOf({ ...good, openBreaks: undefined, isReconciled: false })).toBe("unreconciled");
  const green = Object.values(verdicts).filter(({ tone }) => tone === "good");
  expect(green).toEqual([verdicts.good]);
});

test("a break beside time that was not read is that time's, and a break where there is none", () => {
  const beside = { ...good, openBreaks: 1, unreadBreaks: 1 };
  expect(verdictOf({ ...beside, lostMs: 1 })).toBe("lost");
  expect(verdictOf({ ...beside, missingMs: 1 })).toBe("missing");
  expect(verdictOf(beside)).toBe("breaks");
  expect(verdictOf({ ...beside, openBreaks: 2, missingMs: 1 })).toBe("breaks");
});

test("a category that was never read is a hole, and demo trading alone is no ledger", () => {
  expect(verdictOf({ ...good, neverRead: 1 })).toBe("missing");
  expect(verdictOf({ ...good, ledgers: 0 })).toBe("demo only");
});
