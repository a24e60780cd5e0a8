import { describe, expect, test } from "vitest";
import { errorText } from "../src/commands/exit-code.ts";
import { type NamedList, type SyncRun, syncResult } from "../src/commands/sync-result.ts";
import { resultOfSync } from "../src/commands/sync-summary.ts";
import { dayMs, epochMs } from "../src/contract/time.ts";
import { AccountHeldError, ExchangeError, StoppedError, UsageError } from "../src/errors.ts";
import { asText } from "../src/output/result.ts";
import type { LedgerReport } from "../src/sync/ledger-run.ts";
import type { AccountReport } from "../src/sync/run.ts";
import type { LoanToValueReport } from "../src/sync/sync-loan-to-value.ts";

const at = epochMs(Date.UTC(2026, 10, 21, 3, 24, 59));

const ledger = (changes: Partial<LedgerReport> = {}): LedgerReport => ({
  ledger: { account: "main", productType: "USDT-FUTURES" },
  ...{ new: 1_003, unchanged: 20, restated: 1, rejected: 0, pages: 24, requests: 25 },
  windows: { planned: 13, walked: 13 },
  completeThrough: at,
  lost: [],
  error: undefined,
  ...changes,
});
const coin = (changes: Partial<LedgerReport> = {}) =>
  ledger({ ledger: { account: "main", productType: "COIN-FUTURES" }, ...changes });

const account = (ledgers: readonly LedgerReport[], error?: unknown): AccountReport => ({
  ...{ account: "main", loanToValue: [], ledgers, error },
});
const desk = (report: AccountReport): AccountReport => ({ ...report, account: "desk" });

const stored = {
  ...{ new: 2, changed: 1, returned: 0, gone: 3, isOutdated: false, pairs: 3_204, readAt: at },
};
const list = (changes: Partial<NamedList> = {}): NamedList => ({
  ...{ name: "spot pairs", requests: 1, stored, broken: [], error: undefined, ...changes },
});
const record = {
  ...{ ltv: "0.4321", subAccountUids: ["1"], usdtBalance: "1000.50", unpaidUsdtAmount: "432.32" },
  ...{ extra: null, debts: [], collateral: [] },
};
const unit = (changes: Partial<LoanToValueReport> = {}): LoanToValueReport => ({
  ...{ account: "main", riskUnitId: undefined, error: undefined },
  stored: { record, takenAt: at, change: "unchanged" },
  ...changes,
});
const loans = (...loanToValue: readonly LoanToValueReport[]): AccountReport => ({
  ...account([]),
  loanToValue,
});

const result = (accounts: readonly AccountReport[], changes: Partial<SyncRun> = {}) =>
  syncResult({
    ...{ runId: "run", lists: [], accounts, rejected: [] },
    notices: [],
    elapsedMs: 5_234,
    ...changes,
  });
const linesOf = (...run: Parameters<typeof result>) =>
  asText(resultOfSync(result(...run))).split("\n");

const refused = new ExchangeError("refused-credentials", "there is no such API key");
const unpermitted = new ExchangeError("refused-permission", "the API key lacks a permission");
const held = new AccountHeldError("another run holds account main");
const misnamed = new UsageError("this API key is not the account's");
const stopped = new StoppedError("stopped on request");
const suppressed = new SuppressedError(new Error("and closing failed"), stopped);
const fault = { path: "takerFeeRate", reason: "is not a decimal number" };
const failed = { stored: undefined, error: unpermitted };

test("the summary counts each product type and all of them, complete through the earliest", () => {
  const earlier = coin({ new: 5, completeThrough: epochMs(at - dayMs) });
  expect(linesOf([account([ledger(), earlier])])).toEqual([
    "main            new  restated  rejected  requests   complete through",
    "USDT-FUTURES  1,003         1         0        25  2026-11-21 03:24Z",
    "COIN-FUTURES      5         1         0        25  2026-11-20 03:24Z",
    "all           1,008         2         0        50  2026-11-20 03:24Z",
    "",
    "complete, after 5.2 s",
  ]);
  const never = linesOf([account([ledger(), coin({ completeThrough: undefined })])]);
  expect(never[3]).toMatch(/^all .* -$/);
});

describe("below its table, the summary says", () => {
  const unfinished = { windows: { planned: 13, walked: 10 } };
  test.each<[string, AccountReport, readonly string[]]>([
    ["why an account was refused", account([], refused), ["main: there is no such API key"]],
    [
      "an error once, with all that it ended",
      account([ledger({ ...unfinished, error: unpermitted }), coin({ error: unpermitted })]),
      [
        "main/USDT-FUTURES, COIN-FUTURES: the API key lacks a permission",
        "main/USDT-FUTURES: 3 of 13 windows not finished",
      ],
    ],
    [
      "what is left after a stop, which is no error",
      account([ledger({ ...unfinished, error: stopped })]),
      ["main/USDT-FUTURES: 3 of 13 windows not finished"],
    ],
    [
      "what was lost",
      account([ledger({ lost: [{ from: epochMs(at - dayMs), to: at }] })]),
      [
        "main/USDT-FUTURES: 1 d is lost: it was older than the exchange's 90 days before it was " +
          "read: 2026-11-20 03:24:59Z to 2026-11-21 03:24:59Z",
      ],
    ],
  ])("%s", (_title, report, expected) => {
    const lines = linesOf([report]);
    expect(lines.slice(lines.indexOf("") + 1, -1)).toEqual(expected);
  });

  test("how many rows are rejected, of this run or an earlier one", () => {
    const rows = (count: number) => {
      const rejected = [{ account: "main", productType: "USDT-FUTURES" as const, rows: count }];
      return linesOf([account([ledger()])], { rejected }).at(-2);
    };
    expect(rows(1)).toMatch(
      /^main\/USDT-FUTURES: 1 row broke the API's contract, so that its bill is not/,
    );
    expect(rows(1_234)).toMatch(
      /^main\/USDT-FUTURES: 1,234 rows broke the API's contract, so that their/,
    );
  });

  test("what changed in lists and loans, what failed of them, and which rows were broken", () => {
    const empty = { ...record, ltv: null, usdtBalance: null, unpaidUsdtAmount: null };
    const broken = Array.from({ length: 8 }, (_, index) => ({ name: `PAIR${index}`, fault }));
    const lists = [
      list(),
      list({ name: "contracts of USDT-FUTURES", ...failed }),
      list({ name: "contracts of COIN-FUTURES", broken }),
      list({ name: "contracts of USDC-FUTURES", stored: { ...stored, isOutdated: true } }),
    ];
    const first = { record, takenAt: at, change: "first" } as const;
    const changed = { record: empty, takenAt: at, change: "changed" } as const;
    const reports = [
      loans(
        unit(),
        unit({ riskUnitId: "12", stored: first }),
        unit({ ...failed, riskUnitId: "7" }),
      ),
      loans(unit({ account: "desk", stored: changed })),
    ];
    expect(linesOf(reports, { lists })).toEqual([
      "list                       entries  new  changed  returned  gone  stored",
      "spot pairs                   3,204    2        1         0     3  yes",
      "contracts of COIN-FUTURES    3,204    2        1         0     3  yes",
      "contracts of USDC-FUTURES    3,204    2        1         0     3  no: another run has stored a newer list",
      "",
      "risk unit                 ltv  assets USDT  unpaid USDT  record",
      "main/loan-to-value/12  0.4321      1000.50       432.32  first",
      "desk/loan-to-value          -            -            -  changed",
      "",
      "contracts of COIN-FUTURES: PAIR0 and 7 more were not stored, since they broke the API's contract: " +
        "takerFeeRate is not a decimal number",
      "contracts of USDT-FUTURES, main/loan-to-value/7: the API key lacks a permission",
      "NOT complete (1 of 2 accounts are complete), after 5.2 s",
    ]);
  });

  test("nothing of lists and loans that are as they were", () => {
    const same = list({ stored: { ...stored, new: 0, changed: 0, gone: 0 } });
    expect(linesOf([loans(unit())], { lists: [same] })).toEqual(["complete, after 5.2 s"]);
  });
});

const well = account([ledger()]);
const open = account([ledger({ rejected: 1 })]);
const rejected = [{ account: "main", productType: "USDT-FUTURES", rows: 3 }] as const;
const lost = ledger({ lost: [{ from: at, to: epochMs(at + 1) }] });
const short = ledger({ windows: { planned: 2, walked: 1 } });
const unlookable = { rejected: { error: refused } };
const down = { lists: [list(failed)] };
test.each<[string, readonly AccountReport[], Partial<SyncRun>, string, number]>([
  ["all that was planned was walked", [well], {}, "complete", 0],
  ["time was found lost", [account([lost])], {}, "incomplete", 1],
  ["a window is left", [account([short])], {}, "incomplete", 1],
  ["a type failed", [account([ledger(), coin({ error: unpermitted })])], {}, "incomplete", 1],
  ["a row was rejected", [open], {}, "incomplete", 1],
  ["rows of earlier runs are rejected", [well], { rejected }, "incomplete", 1],
  ["rows of another ledger are rejected", [account([coin()])], { rejected }, "complete", 0],
  ["the account was refused", [account([], refused)], {}, "failed", 1],
  ["one account was refused", [account([], refused), desk(well)], {}, "incomplete", 1],
  ["it was stopped", [account([ledger({ error: stopped })])], {}, "stopped", 1],
  ["it was stopped, and closing failed", [account([], suppressed)], {}, "stopped", 1],
  ["another run holds the account", [account([], held)], {}, "held", 3],
  ["another run holds one account", [account([], held), desk(well)], {}, "incomplete", 3],
  ["nobody could look for rejected rows", [well], unlookable, "incomplete", 1],
  ["one is held, none looked", [account([], held), desk(well)], unlookable, "incomplete", 1],
  ["its key is another account's", [account([], misnamed)], {}, "failed", 2],
  ["so is one, another is held", [account([], misnamed), desk(account([], held))], {}, "failed", 2],
  ["so is one, another is open", [account([], misnamed), desk(open)], {}, "incomplete", 1],
  ["one is held and one refused", [account([], held), account([], refused)], {}, "failed", 1],
  ["one is held, rows are rejected", [account([], held), well], { rejected }, "incomplete", 1],
  ["spot pairs alone", [], { lists: [list()] }, "complete", 0],
  ["spot pairs alone failed", [], down, "failed", 1],
  ["a pair was broken", [], { lists: [list({ broken: [{ name: "X", fault }] })] }, "incomplete", 1],
  ["spot pairs failed beside an account", [loans(unit())], down, "incomplete", 1],
  ["a risk unit failed", [loans(unit(), unit(failed))], {}, "incomplete", 1],
  [
    "spot pairs stopped",
    [loans(unit())],
    { lists: [list({ ...failed, error: stopped })] },
    "stopped",
    1,
  ],
  ["the account is held, spot pairs stored", [account([], held)], { lists: [list()] }, "held", 3],
  ["the account is held, spot pairs failed", [account([], held)], down, "failed", 1],
])("the outcome where %s", (_title, reports, changes, outcome, exitCode) => {
  const ended = result(reports, changes);
  expect([ended.outcome, ended.exitCode]).toEqual([outcome, exitCode]);
});

test("the run log has each message once, and none for a stop", () => {
  const textOf = (...reports: readonly AccountReport[]) => errorText(result(reports).errors);
  const both = account([ledger({ error: unpermitted }), coin({ error: unpermitted })]);
  expect(textOf(both)).toBe("the API key lacks a permission");
  expect(textOf(account([], refused), desk(both))).toBe(
    "there is no such API key; the API key lacks a permission",
  );
  expect(textOf(account([ledger({ error: stopped })]))).toBeNull();
  expect(textOf(well)).toBeNull();
});
