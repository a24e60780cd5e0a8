import { expect, test } from "vitest";
import { hourMs } from "../src/contract/time.ts";
import { type Headline, headlineOf, headlines, type Trust } from "../src/page/trust/headline.ts";
import { nextCommands } from "../src/page/trust/next-commands.ts";
import { breaksText } from "../src/page/trust/sentence.ts";
import type { ListedBreak } from "../src/reconciliation/sign-off.ts";
import { aBreak } from "./support/listed-break.ts";

const good: Trust = {
  ledgers: 3,
  demoLedgers: 1,
  isSyncAtWork: false,
  openBreaks: 0,
  badBreaks: 0,
  lostBreaks: 0,
  restatements: 0,
  signedOffBreaks: 0,
  repairableBreaks: 0,
  lastingBreaks: [],
  lostMs: 0,
  missingMs: 0,
  readableMs: 0,
  neverRead: 0,
  behindMs: 26 * hourMs,
  paused: [],
  rejectedRows: 0,
  outdatedBreaks: 0,
  isReconciled: true,
};

/** From the first that holds to the last: each hides those below it. */
const rule: readonly (readonly [Headline, Partial<Trust>])[] = [
  ["nothing", { ledgers: 0, demoLedgers: 0 }],
  ["breaks", { openBreaks: 2, badBreaks: 2 }],
  ["at work", { isSyncAtWork: true }],
  ["lost", { lostMs: 1 }],
  ["missing", { missingMs: 1 }],
  ["behind", { behindMs: 26 * hourMs + 1 }],
  ["rejected", { rejectedRows: 1 }],
  ["restated", { openBreaks: 1, restatements: 1 }],
  ["unreconciled", { isReconciled: false }],
  ["signed off", { signedOffBreaks: 1 }],
  ["good", {}],
];

test.each(rule)("the headline is %s where that is the worst that holds", (headline, facts) => {
  expect(headlineOf({ ...good, ...facts })).toBe(headline);
  const place = rule.findIndex(([name]) => name === headline);
  const below: Partial<Trust> = Object.assign({}, ...rule.slice(place).map(([, more]) => more));
  expect(headlineOf({ ...good, ...below, ...facts })).toBe(headline);
});

test("it is green only where a reconcile ran and looked at everything", () => {
  expect(headlineOf({ ...good, openBreaks: undefined })).toBe("unreconciled");
  expect(headlineOf({ ...good, openBreaks: undefined, isReconciled: false })).toBe("unreconciled");
  const green = Object.values(headlines).filter(({ tone }) => tone === "good");
  expect(green).toEqual([headlines["signed off"], headlines.good]);
});

test("a break beside time that was not read is that time's, and all others are breaks", () => {
  const mild = { ...good, openBreaks: 1 };
  expect(headlineOf({ ...mild, missingMs: 1 })).toBe("missing");
  const severe = { ...mild, badBreaks: 1 };
  expect(headlineOf({ ...severe, missingMs: 1 })).toBe("breaks");
  expect(headlineOf({ ...severe, lostBreaks: 1, lostMs: 1 })).toBe("lost");
  expect(headlineOf({ ...severe, badBreaks: 2, lostBreaks: 1, lostMs: 1 })).toBe("breaks");
});

test("bills that were only restated are no sum that is off, but nobody is told that all is well", () => {
  const restated = { ...good, openBreaks: 2, restatements: 2 };
  expect(headlineOf(restated)).toBe("restated");
  expect(headlineOf({ ...restated, openBreaks: 3, badBreaks: 1 })).toBe("breaks");
  expect(headlineOf({ ...restated, openBreaks: 3, missingMs: 1 })).toBe("missing");
});

test("a break whose cause is gone waits for a check, and no open break leaves it green", () => {
  const settled = { ...good, openBreaks: 1, outdatedBreaks: 1, isReconciled: false };
  expect(headlineOf(settled)).toBe("unreconciled");
  expect(nextCommands(settled)).toEqual(["npm run reconcile"]);
  expect(headlineOf({ ...good, openBreaks: 1 })).toBe("unreconciled");
});

test("a category that was never read is a hole, and demo trading alone is no ledger", () => {
  expect(headlineOf({ ...good, neverRead: 1 })).toBe("missing");
  expect(headlineOf({ ...good, ledgers: 0 })).toBe("demo only");
});

const said = (...breaks: readonly ListedBreak[]) =>
  breaksText({ breaks, demoAccounts: new Set() }, { repairableBreaks: 1 }).text.replaceAll(
    /<[^>]*>/g,
    "",
  );

test("an open break is off by an amount, and rejected rows by none", () => {
  const rows = aBreak("quarantine", "8");
  expect(said(rows)).toBe("1 break is open.");
  expect(said(rows, aBreak("chain", "-1.5"))).toBe(
    "2 breaks are open. #4 is off by \u22121.5 USDT.",
  );
});

test("of several breaks of a coin, the headline names the greatest, whatever its sign and order", () => {
  const off = (breakId: number, difference: string, coin: string) =>
    aBreak("chain", difference, { breakId, coin });
  const small = off(1, "0.07048290", "ETH");
  expect(said(small, off(2, "9.9", "USDT"), off(3, "-1502.75", "USDT"), off(4, "10", "USDT"))).toBe(
    "4 breaks are open. The greatest of each coin: #3 is off by −1,502.75 USDT, #1 is off by +0.07048290 ETH.",
  );
  const others = ["BTC", "SOL", "XRP"].map((coin, index) => off(10 + index, "1", coin));
  expect(said(small, ...others)).toBe(
    "4 breaks are open. #1 is off by +0.07048290 ETH, #10 is off by +1 BTC, #11 is off by +1 SOL, and 1 coin more.",
  );
  // A hole explains the one beside it.
  const beside = aBreak("unread", "99999", { breakId: 5, coin: "USDT" });
  expect(said(small, beside)).toBe(
    "1 break is open, and 1 more beside time that was not read. #1 is off by +0.07048290 ETH.",
  );
});

const sync = "npm run sync";
const reconcile = "npm run reconcile";
const repair = "npm run reconcile -- --repair";

/** What the first card tells to type, by what is known. */
const typed: readonly (readonly [string, Partial<Trust>, readonly string[]])[] = [
  ["nothing is stored", { ledgers: 0, demoLedgers: 0 }, [sync]],
  ["only demo trading is stored", { ledgers: 0 }, []],
  ["a sync is at work", { isSyncAtWork: true, missingMs: 1, readableMs: 1 }, []],
  ["time is missing that can be read", { missingMs: 1, readableMs: 1 }, [sync, reconcile]],
  ["time is missing that no sync can read", { missingMs: 1 }, []],
  ["a ledger was never read", { neverRead: 1 }, [sync, reconcile]],
  ["nothing was read since yesterday", { behindMs: 26 * hourMs + 1 }, [sync, reconcile]],
  ["rows were rejected", { rejectedRows: 1 }, [sync, reconcile]],
  ["reconcile never ran", { openBreaks: undefined, isReconciled: false }, [reconcile]],
  ["a break can be read again", { openBreaks: 1, repairableBreaks: 1 }, [repair]],
  [
    "a break may be time that is missing",
    { openBreaks: 2, repairableBreaks: 1, missingMs: 1, readableMs: 1 },
    [sync, repair],
  ],
  [
    "breaks are too old to be read again",
    { openBreaks: 2, lastingBreaks: [3, 5] },
    ['npm run breaks -- accept 3,5 --note "why"'],
  ],
  [
    "a check may resolve what is too old",
    { openBreaks: 1, lastingBreaks: [3], isReconciled: false },
    [reconcile],
  ],
  ["time is lost, and all else is well", { lostMs: 1 }, []],
  [
    "time is lost, and other time can be read",
    { lostMs: 1, missingMs: 1, readableMs: 1 },
    [sync, reconcile],
  ],
  [
    "an account is paused",
    { behindMs: 27 * hourMs, paused: ["main desk"] },
    ["npm run accounts -- resume 'main desk'", sync, reconcile],
  ],
  ["all is well", {}, []],
];

test.each(typed)("what to type where %s", (_what, facts, commands) => {
  expect(nextCommands({ ...good, ...facts })).toEqual(commands);
});
