import { expect, test } from "vitest";
import type { Finding } from "../src/check/health/finding-kinds.ts";
import type { LedgerStatus } from "../src/check/health/ledger-status.ts";
import { headLines } from "../src/check/health/verdict.ts";
import { ledgersTable, recordsTable } from "../src/commands/status.ts";
import { dayMs, epochMs, hourMs, minuteMs, retentionMs, secondMs } from "../src/lib/time.ts";
import { tableText } from "../src/output/result.ts";

const now = epochMs(Date.UTC(2026, 10, 21, 12));
const ago = (ms: number) => epochMs(now - ms);
const between = (fromAgoMs: number, toAgoMs: number) => ({
  from: ago(fromAgoMs),
  to: ago(toAgoMs),
});

/** A ledger that was read to its end a minute ago. */
const ledger = (changes: Partial<LedgerStatus> = {}): LedgerStatus => ({
  ledger: { account: "main", productType: "USDT-FUTURES" },
  bills: 1_234,
  openRejected: 0,
  readThrough: ago(11 * minuteMs),
  coverage: [between(retentionMs, 11 * minuteMs)],
  unfinished: [],
  unread: [],
  openLost: [],
  recovered: [],
  retiredAt: undefined,
  endedAt: undefined,
  expiresAt: epochMs(now - 11 * minuteMs + retentionMs),
  ...changes,
});

const linesOf = (...ledgers: readonly LedgerStatus[]) =>
  tableText(
    ledgersTable(
      ledgers,
      new Map(
        ledgers.map(({ ledger: { account, productType } }) => [
          `${account}/${productType}`,
          { state: account === "main" ? "active" : "retired", isConfigured: true },
        ]),
      ),
      now,
    ),
  ).split("\n");

test("a ledger's row says through when it is complete, what is unread, lost, and when more is", () => {
  const interrupted = ledger({
    ledger: { account: "main", productType: "COIN-FUTURES" },
    bills: 9,
    openRejected: 2,
    readThrough: ago(60 * dayMs),
    coverage: [between(80 * dayMs, 60 * dayMs), between(50 * dayMs, 30 * dayMs)],
    unread: [between(60 * dayMs, 50 * dayMs), between(30 * dayMs, dayMs)],
    openLost: [between(95 * dayMs, 89 * dayMs - hourMs)],
    expiresAt: ago(60 * dayMs - retentionMs),
  });
  const fresh = ledger({
    ...{ bills: 0, readThrough: undefined, coverage: [] },
    ...{ unread: [between(retentionMs - secondMs, 0)], expiresAt: undefined },
  });
  expect(linesOf(ledger(), interrupted, fresh)).toEqual([
    "main          bills       read through     unread     lost  expires in",
    "USDT-FUTURES  1,234  2026-11-21 11:49Z          -        -   89 d 23 h",
    "COIN-FUTURES      9  2026-09-22 12:00Z       39 d  6 d 1 h        30 d",
    "USDT-FUTURES      0                  -  89 d 23 h        -           -",
  ]);
});

const finding = (changes: Partial<Finding>): Finding => ({
  ...{ kind: "behind", account: "main", ledger: "USDT-FUTURES", coin: "", detail: "", count: 1 },
  ...{ since: ago(18 * minuteMs), until: undefined, difference: null, breakIds: [] },
  ...{ isRepairable: false },
  ...changes,
});
const textsOf = (...findings: readonly Finding[]) =>
  headLines(findings, now).map(({ text }) => text);

test("a person reads one line a kind, account and period, which names few ledgers and counts several; of many accounts, one of all", () => {
  const coin = { ledger: "COIN-FUTURES" };
  expect(
    textsOf(
      finding({}),
      finding({ ...coin, since: ago(hourMs) }),
      finding({ account: "desk" }),
      finding({ kind: "lost", since: ago(100 * dayMs), until: ago(99 * dayMs), breakIds: [7] }),
      ...["COIN-FUTURES", "SPOT", "UTA-SPOT"].map((ledger) =>
        finding({ kind: "lost", since: ago(98 * dayMs), until: ago(97 * dayMs), ledger }),
      ),
      finding({ kind: "never-read", since: undefined, ...coin }),
      finding({ kind: "never-read", since: undefined }),
      finding({ kind: "never-read", since: undefined, unconfigured: "product type", account: "x" }),
    ),
  ).toEqual([
    "main/USDT-FUTURES, COIN-FUTURES were last read up to 1 h ago",
    "desk/USDT-FUTURES was last read 18 m ago",
    "main/USDT-FUTURES was not read from 2026-08-13 12:00Z to 2026-08-14 12:00Z, and the exchange serves no bills of it any more",
    "main/COIN-FUTURES, SPOT, UTA-SPOT were not read from 2026-08-15 12:00Z to 2026-08-16 12:00Z, and the exchange serves no bills of it any more",
    "main/COIN-FUTURES, USDT-FUTURES were never read",
    "x/USDT-FUTURES was never read, and not in the configuration, which has others of the unified account's wallet; name all in PRODUCT_TYPES, or none",
  ]);
  const wallets = ["a", "b", "c", "d"].map((ledger) => finding({ ledger }));
  expect(textsOf(...wallets)).toEqual(["main (4 ledgers) were last read 18 m ago"]);
  const many = ["a", "b", "c", "d", "e"].flatMap((account) => [
    finding({ account }),
    finding({ account, ...coin }),
  ]);
  expect(textsOf(...many)).toEqual(["5 accounts (10 ledgers) were last read 18 m ago"]);
  expect(textsOf(...many.slice(0, 8))).toHaveLength(4);
});

test("breaks that one line tells of are accepted together, and those with other amounts stand alone", () => {
  const restated = (breakIds: readonly number[], ledger: string, detail = "restated") =>
    finding({ kind: "restated", breakIds, ledger, detail });
  const [both, other] = headLines(
    [restated([3, 4], "SPOT"), restated([9], "COIN-FUTURES"), restated([5], "SPOT", "x")],
    now,
  );
  expect(both?.remedy).toBe('bill-sync breaks accept 3,4,9 --note "…"');
  expect(other?.remedy).toBe('bill-sync breaks accept 5 --note "…"');
});

test("the state of ledgers is shown where one of them is not read", () => {
  const old = ledger({ ledger: { account: "old", productType: "USDT-FUTURES" } });
  expect(linesOf(ledger(), old).map((line) => line.split(" ").at(-1))).toEqual([
    ...["state", "active", "retired"],
  ]);
});

test("the records' rows say how old lists and loans are", () => {
  const readAt = ago(2 * hourMs);
  const lists = [
    { list: "spot", entries: 3_204, gone: 2, readAt },
    { list: "COIN-FUTURES", entries: 40, gone: 2, readAt },
  ];
  const loan = { account: "main", riskUnitId: "12", ltv: "0.4321", owed: null, collateral: null };
  const rows = recordsTable(lists, [{ ...loan, firstSeenAt: ago(dayMs), lastSeenAt: readAt }], now);
  expect(tableText(rows).split("\n")).toEqual([
    "records                    content                            read  age",
    "spot pairs                 3,204 pairs, 2 gone   2026-11-21 10:00Z  2 h",
    "contracts of COIN-FUTURES  40 contracts, 2 gone  2026-11-21 10:00Z  2 h",
    "main/loan-to-value/12      ltv 0.4321            2026-11-21 10:00Z  2 h",
  ]);
  const at = { firstSeenAt: "2026-11-20T12:00:00Z", readAt: "2026-11-21T10:00:00Z" };
  expect(rows.json[2]).toEqual({ name: "main/loan-to-value/12", content: "ltv 0.4321", ...at });
});
