import { describe, expect, test } from "vitest";
import { errorText } from "../src/commands/exit-code.ts";
import { recordsJson, recordsTable, wantedRiskUnits } from "../src/commands/status/records.ts";
import { errorsOf, type SyncRun, syncResult } from "../src/commands/sync/sync-result.ts";
import { resultOf } from "../src/commands/sync/sync-summary.ts";
import { epochMs, hourMs } from "../src/contract/time.ts";
import { AccountHeldError, ExchangeError, StoppedError } from "../src/errors.ts";
import { jsonTime } from "../src/output/json-times.ts";
import { asJson, asText, tableText } from "../src/output/result.ts";
import type { AccountReport } from "../src/sync/run.ts";
import type { ContractsReport, SymbolsReport } from "../src/sync/settings-lists.ts";
import type { LoanToValueReport } from "../src/sync/sync-loan-to-value.ts";

const at = epochMs(Date.UTC(2026, 10, 21, 3, 24, 59));

const counts = { new: 2, changed: 1, returned: 0, gone: 3, isOutdated: false };
const stored = { ...counts, pairs: 3_204, readAt: at };
const symbols = (changes: Partial<SymbolsReport> = {}): SymbolsReport => ({
  requests: 1,
  stored,
  broken: [],
  error: undefined,
  ...changes,
});

const record = {
  ltv: "0.4321",
  subAccountUids: ["1"],
  usdtBalance: "1000.50",
  unpaidUsdtAmount: "432.32",
  extra: null,
  debts: [],
  collateral: [],
};
const unit = (changes: Partial<LoanToValueReport> = {}): LoanToValueReport => ({
  account: "main",
  riskUnitId: undefined,
  stored: { record, takenAt: at, change: "unchanged" },
  error: undefined,
  ...changes,
});
const account = (
  loanToValue: readonly LoanToValueReport[],
  changes: Partial<AccountReport> = {},
): AccountReport => ({ account: "main", loanToValue, streams: [], error: undefined, ...changes });

const result = (changes: Partial<SyncRun>) =>
  syncResult({
    runId: "run",
    symbols: undefined,
    contracts: undefined,
    reports: [],
    rejected: [],
    elapsedMs: 5_234,
    ...changes,
  });
const linesOf = (changes: Partial<SyncRun>) => asText(resultOf(result(changes))).split("\n");

const down = new ExchangeError("unavailable", "no answer");
const unpermitted = new ExchangeError("refused-permission", "the API key lacks a permission");
const fault = { path: "takerFeeRate", reason: "is not a decimal number" };
const failed = { stored: undefined, error: unpermitted };

describe("the summary says", () => {
  test("how many pairs there are and what became of them, and of each risk unit", () => {
    const empty = { ...record, ltv: null, usdtBalance: null, unpaidUsdtAmount: null };
    const reports = [
      account([
        unit(),
        unit({ riskUnitId: "12", stored: { record, takenAt: at, change: "first" } }),
      ]),
      account([
        unit({ account: "desk", stored: { record: empty, takenAt: at, change: "changed" } }),
      ]),
    ];
    expect(linesOf({ symbols: symbols(), reports })).toEqual([
      "list     entries  new  changed  returned  gone  stored",
      "symbols    3,204    2        1         0     3  yes",
      "",
      "risk unit                 ltv  assets USDT  unpaid USDT  record",
      "main/loan-to-value/12  0.4321      1000.50       432.32  the first",
      "desk/loan-to-value          -            -            -  changed",
      "",
      "complete, after 5.2 s",
    ]);
  });

  test("nothing of lists and loans that are as they were", () => {
    const same = { ...stored, new: 0, changed: 0, returned: 0, gone: 0 };
    const contracts = [{ productType: "USDT-FUTURES" as const, ...symbols({ stored: same }) }];
    const lists = { symbols: symbols({ stored: same }), contracts };
    expect(linesOf({ ...lists, reports: [account([unit()])] })).toEqual(["complete, after 5.2 s"]);
  });

  test("what failed, by its name", () => {
    const reports = [account([unit(failed), unit({ ...failed, riskUnitId: "12" })])];
    const run = { symbols: symbols({ stored: undefined, error: down }), reports };
    expect(linesOf(run)).toEqual([
      "symbols: no answer",
      "main/loan-to-value, main/loan-to-value/12: the API key lacks a permission",
      "NOT complete, after 5.2 s",
    ]);
    expect(errorText(errorsOf(result(run)))).toBe("no answer; the API key lacks a permission");
  });

  test("which pairs were not stored, and how many more there are", () => {
    const broken = Array.from({ length: 8 }, (_, index) => ({ name: `PAIR${index}`, fault }));
    const lines = linesOf({ symbols: symbols({ broken }) });
    expect(lines[3]).toBe(
      "symbols: PAIR0 was not stored: it broke the API's contract: takerFeeRate is not a " +
        "decimal number",
    );
    expect(lines.slice(7)).toEqual([
      expect.stringContaining("PAIR4"),
      "symbols: and 3 more rows like these",
      "NOT complete, after 5.2 s",
    ]);
  });

  test("what came of each product type's contracts, and what did not", () => {
    const listOf = (productType: ContractsReport["productType"], changes = {}) => ({
      productType,
      ...symbols(changes),
    });
    const contracts = [
      listOf("USDT-FUTURES", failed),
      listOf("COIN-FUTURES", { broken: [{ name: "BTCUSD", fault }] }),
      listOf("USDC-FUTURES", { stored: { ...stored, isOutdated: true } }),
    ];
    expect(linesOf({ contracts })).toEqual([
      "list                       entries  new  changed  returned  gone  stored",
      "contracts of COIN-FUTURES    3,204    2        1         0     3  yes",
      "contracts of USDC-FUTURES    3,204    2        1         0     3  no: another run has stored a newer list",
      "",
      "contracts of COIN-FUTURES: BTCUSD was not stored: it broke the API's contract: " +
        "takerFeeRate is not a decimal number",
      "contracts of USDT-FUTURES: the API key lacks a permission",
      "NOT complete, after 5.2 s",
    ]);
  });
});

const held = new AccountHeldError("another run holds account main");
const stopped = new StoppedError("stopped on request");
test.each<[string, Partial<SyncRun>, string, number]>([
  ["symbols alone", { symbols: symbols() }, "complete", 0],
  ["symbols alone failed", { symbols: symbols({ ...failed }) }, "failed", 1],
  ["a pair was broken", { symbols: symbols({ broken: [{ name: "X", fault }] }) }, "incomplete", 1],
  [
    "symbols failed beside an account that did not",
    { symbols: symbols({ ...failed }), reports: [account([unit()])] },
    "incomplete",
    1,
  ],
  ["a risk unit failed", { reports: [account([unit(), unit(failed)])] }, "incomplete", 1],
  [
    "symbols were stopped",
    { symbols: symbols({ stored: undefined, error: stopped }), reports: [account([unit()])] },
    "stopped",
    1,
  ],
  [
    "the account is held, and symbols are stored",
    { symbols: symbols(), reports: [account([], { error: held })] },
    "held",
    3,
  ],
  [
    "the account is held, and symbols failed",
    { symbols: symbols({ ...failed }), reports: [account([], { error: held })] },
    "failed",
    1,
  ],
])("the outcome and exit code where %s", (_, run, outcome, exitCode) => {
  expect(result(run)).toMatchObject({ outcome, exitCode });
});

test("programs get the records as JSON", () => {
  const broken = [{ name: "X", fault }];
  const run = { symbols: symbols({ broken }), reports: [account([unit(), unit(failed)])] };
  expect(JSON.parse(JSON.stringify(asJson(resultOf(result(run)))))).toMatchObject({
    symbols: {
      ...counts,
      pairs: 3_204,
      readAt: jsonTime(at),
      requests: 1,
      broken: [{ name: "X" }],
    },
    accounts: [
      {
        loanToValue: [
          { riskUnitId: null, takenAt: jsonTime(at), change: "unchanged", ltv: "0.4321" },
          { riskUnitId: null, error: "the API key lacks a permission" },
        ],
      },
    ],
  });
});

describe("status", () => {
  const now = epochMs(at + 2 * hourMs);
  const records = {
    symbols: { pairs: 3_204, gone: 2, readAt: at },
    contracts: [
      { productType: "COIN-FUTURES", pairs: 40, gone: 1, readAt: epochMs(at - hourMs) },
      { productType: "USDT-FUTURES", pairs: 520, gone: 2, readAt: at },
    ],
    loanToValue: [
      {
        account: "main",
        riskUnitId: "12",
        ltv: "0.4321",
        takenAt: epochMs(at - hourMs),
        heldUntil: at,
      },
    ],
  };

  test("says how old symbols and loan-to-value are, and which that are wanted are not there", () => {
    const wanted = wantedRiskUnits([
      { name: "main", ltv: true, riskUnitIds: ["12", "13"] },
      { name: "desk", ltv: true },
      { name: "spare", ltv: false, riskUnitIds: ["14"] },
    ]);
    expect(tableText(recordsTable(records, wanted, now)).split("\n")).toEqual([
      "records                kept                                read  age",
      "symbols                3,204 pairs, 2 gone    2026-11-21 03:24Z  2 h",
      "contracts              560 contracts, 3 gone  2026-11-21 02:24Z  3 h",
      "main/loan-to-value/12  ltv 0.4321             2026-11-21 03:24Z  2 h",
      "main/loan-to-value/13  -                                      -    -",
      "desk/loan-to-value     -                                      -    -",
    ]);
  });

  test("says the same to programs", () => {
    expect(recordsJson(records, [])).toEqual({
      symbols: { pairs: 3_204, gone: 2, readAt: jsonTime(at) },
      contracts: [
        {
          productType: "COIN-FUTURES",
          pairs: 40,
          gone: 1,
          readAt: jsonTime(epochMs(at - hourMs)),
        },
        { productType: "USDT-FUTURES", pairs: 520, gone: 2, readAt: jsonTime(at) },
      ],
      loanToValue: [
        {
          account: "main",
          riskUnitId: "12",
          configured: false,
          ltv: "0.4321",
          takenAt: jsonTime(epochMs(at - hourMs)),
          heldUntil: jsonTime(at),
        },
      ],
    });
  });
});
