import { describe, expect, test } from "vitest";
import { errorText } from "../src/commands/exit-code.ts";
import { errorsOf, type SyncRun, syncResult } from "../src/commands/sync/sync-result.ts";
import { countsOf, resultOf } from "../src/commands/sync/sync-summary.ts";
import { dayMs, epochMs } from "../src/contract/time.ts";
import { AccountHeldError, ExchangeError, StoppedError, UsageError } from "../src/errors.ts";
import { asJson, asText } from "../src/output/result.ts";
import type { AccountReport } from "../src/sync/run.ts";
import type { StreamReport } from "../src/sync/stream-run.ts";

const at = epochMs(Date.UTC(2026, 10, 21, 3, 24, 59));

const stream = (changes: Partial<StreamReport> = {}): StreamReport => ({
  stream: { account: "main", productType: "USDT-FUTURES" },
  new: 1_003,
  unchanged: 20,
  restated: 1,
  rejected: 0,
  pages: 24,
  requests: 25,
  windows: { planned: 13, walked: 13 },
  completeThrough: at,
  lost: [],
  error: undefined,
  ...changes,
});

const coin = (changes: Partial<StreamReport> = {}) =>
  stream({ stream: { account: "main", productType: "COIN-FUTURES" }, ...changes });

const account = (streams: readonly StreamReport[], error?: unknown): AccountReport => ({
  account: "main",
  loanToValue: [],
  streams,
  error,
});

const rejectedCount = { account: "main", productType: "USDT-FUTURES", rows: 3 } as const;

const result = (reports: readonly AccountReport[], changes: Partial<SyncRun> = {}) =>
  syncResult({
    runId: "run",
    symbols: undefined,
    contracts: undefined,
    reports,
    rejected: [],
    elapsedMs: 5_234,
    ...changes,
  });

const linesOf = (...given: Parameters<typeof result>) =>
  asText(resultOf(result(...given))).split("\n");

const refused = new ExchangeError("refused-credentials", "there is no such API key");
const unpermitted = new ExchangeError("refused-permission", "the API key lacks a permission");
const held = new AccountHeldError("another run holds account main");
const misnamed = new UsageError("this API key is not the account's");
const stopped = new StoppedError("stopped on request");

test("the summary counts each product type and all of them, complete through the earliest", () => {
  const earlier = coin({ new: 5, completeThrough: epochMs(at - dayMs) });
  expect(linesOf([account([stream(), earlier])])).toEqual([
    "main            new  restated  rejected  requests   complete through",
    "USDT-FUTURES  1,003         1         0        25  2026-11-21 03:24Z",
    "COIN-FUTURES      5         1         0        25  2026-11-20 03:24Z",
    "all           1,008         2         0        50  2026-11-20 03:24Z",
    "",
    "complete, after 5.2 s",
  ]);
});

test("of several accounts, the last line says how many are complete, unless all are", () => {
  const well = account([stream()]);
  const other = { account: "desk", loanToValue: [], streams: [], error: refused };
  expect(linesOf([well, other]).slice(-2)).toEqual([
    "desk: there is no such API key",
    "NOT complete (1 of 2 accounts are complete), after 5.2 s",
  ]);
  expect(linesOf([well, well]).at(-1)).toBe("complete, after 5.2 s");
});

test("a million bills of one account fit on 80 columns", () => {
  const demo = (changes: Partial<StreamReport>) =>
    stream({ stream: { account: "main", productType: "SUSDC-FUTURES" }, ...changes });
  const busy = { new: 1_234_567, unchanged: 999_999, requests: 123_456 };
  const lines = linesOf([account([stream(busy), demo(busy)])]);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
});

test("all are complete through no time where one of them is not", () => {
  const lines = linesOf([account([stream(), coin({ completeThrough: undefined })])]);
  expect(lines[3]).toMatch(/^all .* -$/);
});

describe("below its table, the summary says", () => {
  const unfinished = { windows: { planned: 13, walked: 10 } };
  const said: readonly [string, AccountReport, readonly string[]][] = [
    ["why an account was refused", account([], refused), ["main: there is no such API key"]],
    [
      "an error once, with all that it ended",
      account([stream({ ...unfinished, error: unpermitted }), coin({ error: unpermitted })]),
      [
        "main/USDT-FUTURES, COIN-FUTURES: the API key lacks a permission",
        "main/USDT-FUTURES: 3 of 13 windows not finished",
      ],
    ],
    [
      "what is left after a stop, which is no error",
      account([stream({ ...unfinished, error: stopped })]),
      ["main/USDT-FUTURES: 3 of 13 windows not finished"],
    ],
    [
      "what was lost",
      account([stream({ lost: [{ from: epochMs(at - dayMs), to: at }] })]),
      [
        "main/USDT-FUTURES: 1 d is lost: it was older than the exchange's 90 days before it was " +
          "read: 2026-11-20 03:24:59Z to 2026-11-21 03:24:59Z",
      ],
    ],
  ];
  test.each(said)("%s", (_title, report, expected) => {
    const lines = linesOf([report]);
    expect(lines.slice(lines.indexOf("") + 1, -1)).toEqual(expected);
  });

  test("how many rows are rejected, of this run or an earlier one", () => {
    const rows = (count: number) =>
      linesOf([account([stream()])], { rejected: [{ ...rejectedCount, rows: count }] }).at(-2);
    expect(rows(1)).toMatch(/^main\/USDT-FUTURES: 1 row is in rejected_bills and not among/);
    expect(rows(1_234)).toMatch(/^main\/USDT-FUTURES: 1,234 rows are in rejected_bills/);
  });
});

const other = (report: AccountReport): AccountReport => ({ ...report, account: "desk" });
const suppressed = new SuppressedError(new Error("and closing failed"), stopped);
const outcomes: readonly [string, readonly AccountReport[], Partial<SyncRun>, string, number][] = [
  ["all that was planned was walked", [account([stream()])], {}, "complete", 0],
  [
    "time was found lost",
    [account([stream({ lost: [{ from: at, to: epochMs(at + 1) }] })])],
    {},
    "incomplete",
    1,
  ],
  [
    "a window is left",
    [account([stream({ windows: { planned: 2, walked: 1 } })])],
    {},
    "incomplete",
    1,
  ],
  [
    "a product type failed",
    [account([stream(), coin({ error: unpermitted })])],
    {},
    "incomplete",
    1,
  ],
  ["a row was rejected", [account([stream({ rejected: 1 })])], {}, "incomplete", 1],
  [
    "rows of earlier runs are rejected",
    [account([stream()])],
    { rejected: [rejectedCount] },
    "incomplete",
    1,
  ],
  [
    "rows of another stream are rejected",
    [account([coin()])],
    { rejected: [rejectedCount] },
    "complete",
    0,
  ],
  ["the account was refused", [account([], refused)], {}, "failed", 1],
  [
    "one account was refused",
    [account([], refused), other(account([stream()]))],
    {},
    "incomplete",
    1,
  ],
  ["it was stopped", [account([stream({ error: stopped })])], {}, "stopped", 1],
  ["it was stopped, and closing failed", [account([], suppressed)], {}, "stopped", 1],
  ["another run holds the account", [account([], held)], {}, "held", 3],
  [
    "another run holds one account",
    [account([], held), other(account([stream()]))],
    {},
    "incomplete",
    3,
  ],
  [
    "nobody could look whether rows are rejected",
    [account([stream()])],
    { rejected: { error: refused } },
    "incomplete",
    1,
  ],
  [
    "another run holds one account, and nobody could look for rejected rows",
    [account([], held), other(account([stream()]))],
    { rejected: { error: refused } },
    "incomplete",
    1,
  ],
  ["its key is of the wrong account", [account([], misnamed)], {}, "failed", 2],
  [
    "one key is of the wrong account, and another account is held",
    [account([], misnamed), other(account([], held))],
    {},
    "failed",
    2,
  ],
  [
    "one key is of the wrong account, and another account not complete",
    [account([], misnamed), other(account([stream({ rejected: 1 })]))],
    {},
    "incomplete",
    1,
  ],
  [
    "one is held and one refused",
    [account([], held), other(account([], refused))],
    {},
    "failed",
    1,
  ],
  [
    "one is held, and rows of another are rejected",
    [account([], held), account([stream()])],
    { rejected: [rejectedCount] },
    "incomplete",
    1,
  ],
];

test.each(outcomes)("where %s: %#", (_title, reports, changes, outcome, exitCode) => {
  const ended = result(reports, changes);
  expect([ended.outcome, ended.exitCode]).toEqual([outcome, exitCode]);
});

test("the last line says whether the ledger is complete", () => {
  const last = (...reports: readonly AccountReport[]) => linesOf(reports).at(-1);
  const lost = stream({ lost: [{ from: at, to: epochMs(at + 1) }] });
  expect([
    last(account([stream()])),
    last(account([lost])),
    last(account([stream({ rejected: 1 })])),
    last(account([stream({ error: stopped })])),
    last(account([], refused)),
  ]).toEqual([
    "complete, after 5.2 s",
    "NOT complete; the exchange no longer serves the lost time, after 5.2 s",
    "NOT complete, after 5.2 s",
    "stopped before the end; run sync again to go on, after 5.2 s",
    "FAILED, after 5.2 s",
  ]);
});

test("the run log has each message once, and none for a stop", () => {
  const textOf = (...reports: readonly AccountReport[]) => errorText(errorsOf(result(reports)));
  expect(textOf(account([stream({ error: unpermitted }), coin({ error: unpermitted })]))).toBe(
    "the API key lacks a permission",
  );
  expect(textOf(account([], refused), other(account([stream({ error: unpermitted })])))).toBe(
    "there is no such API key; the API key lacks a permission",
  );
  expect(textOf(account([stream({ error: stopped })]))).toBeNull();
  expect(textOf(account([stream()]))).toBeNull();
});

test("programs get the same as JSON, times as ISO 8601 and errors as their messages", () => {
  const lost = [{ from: epochMs(at - 1), to: at }];
  const report = account([
    stream({ lost, error: unpermitted }),
    coin({ completeThrough: undefined }),
  ]);
  expect(JSON.parse(JSON.stringify(asJson(resultOf(result([report])))))).toEqual({
    runId: "run",
    outcome: "incomplete",
    rejected: [],
    reconciled: null,
    symbols: null,
    contracts: null,
    accounts: [
      {
        account: "main",
        mode: null,
        notAvailable: [],
        closed: [],
        loanToValue: [],
        streams: [
          {
            productType: "USDT-FUTURES",
            new: 1_003,
            unchanged: 20,
            restated: 1,
            rejected: 0,
            pages: 24,
            requests: 25,
            windows: { planned: 13, walked: 13 },
            completeThrough: "2026-11-21T03:24:59Z",
            completeThroughMs: at,
            lost: [
              {
                from: "2026-11-21T03:24:58Z",
                to: "2026-11-21T03:24:59Z",
                fromMs: at - 1,
                toMs: at,
              },
            ],
            error: "the API key lacks a permission",
          },
          expect.objectContaining({ productType: "COIN-FUTURES", completeThrough: null }),
        ],
      },
    ],
  });
  expect(
    countsOf({ symbols: undefined, contracts: undefined, reports: [account([], refused)] }),
  ).toEqual({
    symbols: null,
    contracts: null,
    accounts: [
      {
        account: "main",
        mode: null,
        notAvailable: [],
        closed: [],
        error: "there is no such API key",
        loanToValue: [],
        streams: [],
      },
    ],
  });
});
