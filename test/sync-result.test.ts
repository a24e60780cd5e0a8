// A long run's log has a line a minute, and its counts at the end.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { errorText } from "../src/commands/exit-code.ts";
import type { Log } from "../src/commands/log.ts";
import { planResult } from "../src/commands/sync-plan.ts";
import { logReporter, progressLine, terminalReporter } from "../src/commands/sync-reporter.ts";
import { resultOfSync, type SyncRun, syncResult } from "../src/commands/sync-result.ts";
import type { ProductType } from "../src/core/contract/product-types.ts";
import type { AccountReport } from "../src/core/sync/account-report.ts";
import type { BillsProgress, LedgerReport } from "../src/core/sync/ledger-run.ts";
import type { ListReport } from "../src/core/sync/settings-lists.ts";
import type { LoanToValueReport } from "../src/core/sync/sync-loan-to-value.ts";
import type { LedgerPlan, PlannedWindow } from "../src/core/words/ledger.ts";
import {
  AccountHeldError,
  CursorError,
  ExchangeError,
  StoppedError,
  UsageError,
} from "../src/lib/errors.ts";
import { dayMs, epochMs, minuteMs, secondMs } from "../src/lib/time.ts";
import { asText } from "../src/output/result.ts";
import { Screen } from "./support/screen.ts";
import { virtualClock } from "./support/virtual-clock.ts";

const at = epochMs(Date.UTC(2026, 10, 21, 3, 24, 59));

const ledger = (changes: Partial<LedgerReport> = {}): LedgerReport => ({
  ledger: { account: "main", productType: "USDT-FUTURES" },
  ...{ new: 1_003, unchanged: 20, restated: 1, rejected: 0, pages: 24, requests: 25 },
  windowsPlanned: 13,
  windowsRead: 13,
  readThrough: at,
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

const counts = {
  ...{ new: 2, changed: 1, returned: 0, gone: 3, isStored: true, entries: 3_204, readAt: at },
};
const list = (changes: Partial<ListReport> = {}): ListReport => ({
  ...{ name: "spot pairs", requests: 1, counts, broken: [], error: undefined, ...changes },
});
const record = {
  ...{ ltv: "0.4321", subAccountUids: ["1"], usdtBalance: "1000.50", unpaidUsdtAmount: "432.32" },
  ...{ extra: null, debts: [], collateral: [] },
};
const unit = (changes: Partial<LoanToValueReport> = {}): LoanToValueReport => ({
  ...{ account: "main", riskUnitId: undefined, error: undefined },
  stored: { record, readAt: at, change: "unchanged" },
  ...changes,
});
const loans = (...loanToValue: readonly LoanToValueReport[]): AccountReport => ({
  ...account([]),
  loanToValue,
});

const result = (accounts: readonly AccountReport[], changes: Partial<SyncRun> = {}) =>
  syncResult({
    ...{ runId: "run", lists: [], accounts, rejected: [] },
    notSynced: [],
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
const failed = { counts: undefined, stored: undefined, error: unpermitted };

const well = account([ledger()]);
const open = account([ledger({ rejected: 1 })]);
const rejected = [{ account: "main", productType: "USDT-FUTURES", rows: 3 }] as const;

test("the summary counts each product type and all of them, read through the earliest", () => {
  const earlier = coin({ new: 5, readThrough: epochMs(at - dayMs) });
  expect(linesOf([account([ledger(), earlier])])).toEqual([
    "main            new  restated  rejected  requests       read through",
    "USDT-FUTURES  1,003         1         0        25  2026-11-21 03:24Z",
    "COIN-FUTURES      5         1         0        25  2026-11-20 03:24Z",
    "all           1,008         2         0        50  2026-11-20 03:24Z",
    "",
    "complete, after 5.2 s",
  ]);
  expect(linesOf([account([ledger(), coin({ readThrough: undefined })])])[3]).toMatch(/^all .* -$/);
});

describe("below its table, the summary says", () => {
  const unfinished = { windowsPlanned: 13, windowsRead: 10 };
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

  test("how many rows are rejected, and nothing of lists and loans that are as they were", () => {
    const lists = [list({ counts: { ...counts, new: 0, changed: 0, gone: 0 } })];
    expect(linesOf([loans(unit())], { lists })).toEqual(["complete, after 5.2 s"]);
    expect(linesOf([well], { rejected }).at(-2)).toMatch(
      /^main\/USDT-FUTURES: 3 rows broke the API's contract, so that their/,
    );
  });

  test("what changed in lists and loans, what failed of them, and which rows were broken", () => {
    const empty = { ...record, ltv: null, usdtBalance: null, unpaidUsdtAmount: null };
    const broken = Array.from({ length: 8 }, (_, index) => ({ name: `PAIR${index}`, fault }));
    const lists = [
      list(),
      list({ name: "contracts of USDT-FUTURES", ...failed }),
      list({ name: "contracts of COIN-FUTURES", broken }),
      list({ name: "contracts of USDC-FUTURES", counts: { ...counts, isStored: false } }),
    ];
    const changed = { record: empty, readAt: at, change: "changed" } as const;
    const reports = [
      loans(
        unit(),
        unit({ riskUnitId: "12", stored: { record, readAt: at, change: "first" } as const }),
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
});

const lost = ledger({ lost: [{ from: at, to: epochMs(at + 1) }] });
const short = ledger({ windowsPlanned: 2, windowsRead: 1 });
const unlookable = { rejected: { error: unpermitted } };
const down = { lists: [list(failed)] };
test.each<[string, readonly AccountReport[], Partial<SyncRun>, string, number]>([
  ["all that was planned was walked", [well], {}, "complete", 0],
  ["time was found lost", [account([lost])], {}, "incomplete", 1],
  ["a window is left", [account([short])], {}, "incomplete", 1],
  ["a type failed", [account([ledger(), coin({ error: unpermitted })])], {}, "incomplete", 1],
  ["a row was rejected", [open], {}, "incomplete", 1],
  ["rows of earlier runs are rejected", [well], { rejected }, "incomplete", 1],
  ["rows of another ledger are rejected", [account([coin()])], { rejected }, "complete", 0],
  ["the account was refused", [account([], refused)], {}, "failed", 2],
  ["it was stopped", [account([ledger({ error: stopped })])], {}, "stopped", 1],
  ["it was stopped, and closing failed", [account([], suppressed)], {}, "stopped", 1],
  ["another run holds the account", [account([], held)], {}, "held", 3],
  ["another run holds one account", [account([], held), desk(well)], {}, "incomplete", 3],
  ["nobody could look for rejected rows", [well], unlookable, "incomplete", 1],
  ["its key is another account's", [account([], misnamed)], {}, "failed", 2],
  ["so is one, another is open", [account([], misnamed), desk(open)], {}, "incomplete", 1],
  ["one is held and one refused", [account([], held), account([], refused)], {}, "failed", 2],
  ["one is held, rows are rejected", [account([], held), well], { rejected }, "incomplete", 1],
  ["spot pairs alone", [], { lists: [list()] }, "complete", 0],
  ["spot pairs alone failed", [], down, "failed", 1],
  ["spot pairs failed beside an account", [loans(unit())], down, "incomplete", 1],
  ["a risk unit failed", [loans(unit(), unit(failed))], {}, "incomplete", 1],
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

describe("the plan", () => {
  const start = Date.UTC(2026, 10, 1, 3, 24, 59);
  const day = (index: number) => epochMs(start + index * dayMs);

  const linesOf = (...args: Parameters<typeof planResult>) =>
    asText(planResult(...args)).split("\n");

  /** A plan with windows of 7 days. The first ones are resumed at their cursors. */
  function plan(
    account: string,
    productType: ProductType,
    windows: number,
    { resumed = 0, lost = 0 }: { readonly resumed?: number; readonly lost?: number } = {},
  ): LedgerPlan {
    return {
      ledger: { account, productType },
      plannedAt: day(91),
      windows: Array.from({ length: windows }, (_, index): PlannedWindow => {
        const window = { from: day(7 * index), to: day(7 * index + 7) };
        return index < resumed ? { window, cursor: "1" } : { window };
      }),
      lost: lost === 0 ? [] : [{ from: day(-lost), to: day(0) }],
    };
  }

  test("the plan names each product type's windows, and the least that they cost", () => {
    const plans = [
      plan("main", "USDT-FUTURES", 13, { resumed: 2, lost: 3 }),
      plan("main", "COIN-FUTURES", 0),
    ];
    expect(linesOf(plans)).toEqual([
      "main          windows  resumed  time               from",
      "USDT-FUTURES       13        2  91 d  2026-11-01 03:24Z",
      "COIN-FUTURES        0        0     -                  -",
      "",
      "main/USDT-FUTURES: lost 2026-10-29 03:24:59Z to 2026-11-01 03:24:59Z",
      "13 windows, 26 requests at least, plus one for every page of up to 100 bills",
    ]);
  });
});

describe("while it runs", () => {
  type WithoutLedger<Event> = Event extends unknown ? Omit<Event, "ledger"> : never;
  type Event = WithoutLedger<BillsProgress>;

  const weekMs = 7 * dayMs;
  const planned = (weeks: number): Event => ({
    event: "planned",
    windows: weeks,
    plannedMs: weeks * weekMs,
  });
  const request = (failure?: ExchangeError): Event => ({ event: "request", failure });
  const failed = (error: unknown): Event => ({ event: "failed", error });
  const page = (week: number, walkedMs: number, bills = 100): Event => ({
    event: "page",
    window: { from: epochMs(week * weekMs), to: epochMs((week + 1) * weekMs) },
    counts: { new: bills - 3, unchanged: 2, restated: 1, rejected: 4 },
    walkedMs,
  });

  /** A function that gives events of product types to a reporter. */
  const teller =
    ({ progress }: { readonly progress: (event: BillsProgress) => void }) =>
    (productType: ProductType, ...events: readonly Event[]) => {
      const ledger = { account: "main", productType };
      for (const event of events) progress({ ledger, ...event } as BillsProgress);
    };

  /** The display on a screen. The test moves its clock. */
  function display(screen = new Screen()) {
    const clock = { now: 1_000_000 };
    const reporter = terminalReporter(screen, () => clock.now);
    return { screen, clock, tell: teller(reporter), ...reporter, stop: reporter[Symbol.dispose] };
  }

  test("a run shows one line with its share, bills and time left, below all that is said, and leaves it there", () => {
    const { tell, clock, stop, notice, screen } = display();
    notice("starting Postgres");
    tell("USDT-FUTURES", planned(4));
    tell("SCOIN-FUTURES", planned(2));
    tell("USDC-FUTURES", planned(0));
    notice(`long ${"word ".repeat(30)}`.trimEnd());
    clock.now += 10 * secondMs;
    tell("USDT-FUTURES", page(0, weekMs / 2, 12_345), page(0, weekMs), page(2, weekMs));
    notice("short\nin two lines");
    tell("SCOIN-FUTURES", request(), page(0, weekMs / 2));
    stop();
    screen.write("the summary\n");
    stop();
    notice("a late word");
    expect(screen.lines).toEqual([
      "starting Postgres",
      ...(`long ${"word ".repeat(30)}`.trimEnd().match(/.{1,80}/g) ?? []).map((line) =>
        line.trimEnd(),
      ),
      "short",
      "in two lines",
      "████████████░░░░░░░░░░░░░░░░░░ 41%  12,645 bills, 15 s left",
      "",
      "the summary",
      "a late word",
    ]);
  });

  test.each([
    ["is not known before anything is walked", 0, minuteMs, /0% {2}7 bills$/],
    ["is as long as the first half took", 0.5, minuteMs, /50% {2}7 bills, 1 m left$/],
    ["counts whole seconds, rounded up", 0.5, 4_100, /, 5 s left$/],
    ["names two units", 0.01, minuteMs, /, 1 h 39 m left$/],
    ["ends where nothing is left", 1, minuteMs, /100% {2}7 bills$/],
  ])("the time left %s", (_title, done, elapsedMs, expected) => {
    expect(progressLine({ done, bills: 7, pages: 1, requests: 1 }, elapsedMs)).toMatch(expected);
  });

  test("after the planned time, the line says that tax records are read, and for how long", () => {
    const { tell, clock, stop, step, notice, screen } = display();
    const line = () => {
      notice("tick");
      return screen.lines.at(-1);
    };
    tell("USDT-FUTURES", planned(1), page(0, weekMs));
    clock.now += minuteMs;
    step("recovered", { planned: 1_000 });
    expect(line()).toMatch(/100% .* tax records 0%$/);
    clock.now += 10 * secondMs;
    step("recovered", { done: 500 });
    expect(line()).toMatch(/100% .* tax records 50%, 10 s left$/);
    step("recovered", { done: 500 });
    expect(line()).toMatch(/100% .* tax records 100%$/);
    step("checked", { planned: 4 });
    clock.now += 5 * secondMs;
    step("checked", { done: 1 });
    expect(line()).toMatch(/100% .* checking, 15 s left$/);
    stop();
  });

  test("no line is wider than the terminal", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 250 }), fc.nat(1e8), (columns, bills) => {
        const { tell, stop, screen } = display(new Screen(columns));
        tell("USDT-FUTURES", planned(2), page(0, weekMs, bills));
        stop();
        expect(screen.lines).toEqual([expect.any(String), ""]);
      }),
      { numRuns: 100 },
    );
  });

  test("a failure is said once however often it is retried, and what the user stopped is none", () => {
    const { tell, stop, screen } = display();
    const failure = failed(new CursorError("the cursor stands still"));
    tell("USDT-FUTURES", planned(1), failure, failure, failed(new StoppedError("stopped")));
    stop();
    expect(screen.lines).toEqual([
      "main/USDT-FUTURES: the cursor stands still",
      expect.stringContaining(" 0%  0 bills"),
      "",
    ]);
  });

  test("a run's log ends with all that was read, from tax records, too", () => {
    const ends: object[] = [];
    const info = (end: object) => ends.push(end);
    const taxed = {
      ...{ ledger: ledger().ledger, new: 600, unchanged: 3, restated: 0, rejected: 0 },
      ...{
        requests: 46,
        recovered: [],
        partlyRecovered: [],
        notRecoveredReason: undefined,
        error: undefined,
      },
    };
    const reporter = logReporter({ info } as unknown as Log, virtualClock(0).clock);
    reporter.end(result([{ ...account([ledger()]), recovery: [taxed] }]));
    expect(ends).toMatchObject([{ new: 1_603, unchanged: 23, pages: 24, requests: 71 }]);
  });

  test("a run's log tells once a minute how far it is over all product types, and no more once it ends", async () => {
    const time = virtualClock(0);
    const beats: [number, object][] = [];
    const ignore = () => undefined;
    const info = (beat: object, message: string) =>
      message === "at work" && beats.push([time.now(), { ...beat }]);
    const log = { debug: ignore, warn: ignore, error: ignore, info } as unknown as Log;
    const reporter = logReporter(log, time.clock);
    const tell = teller(reporter);
    const sleep = (ms: number) => time.clock.sleep(ms);
    await time.run(
      (async () => {
        await sleep(61 * secondMs);
        tell("COIN-FUTURES", planned(1));
        tell("USDT-FUTURES", planned(1), request(), page(0, weekMs / 4), request());
        tell("USDT-FUTURES", page(0, weekMs / 2), request());
        await sleep(minuteMs);
        tell("USDT-FUTURES", page(0, weekMs / 2));
        tell("USDT-FUTURES", page(1, weekMs), page(0, weekMs));
        reporter.step("recovered", { planned: 8 });
        await sleep(minuteMs);
        reporter.step("recovered", { done: 8 });
        reporter.step("checked", { planned: 2 });
        reporter.step("checked", { done: 1 });
        await sleep(minuteMs);
        reporter[Symbol.dispose]();
        await sleep(10 * minuteMs);
      })(),
    );
    expect(beats).toEqual([
      [minuteMs, { pages: 0, bills: 0, requests: 0, done: 0 }],
      [2 * minuteMs, { pages: 2, bills: 200, requests: 3, done: 0.25 }],
      [3 * minuteMs, { pages: 5, bills: 500, requests: 3, done: 1, recovered: 0 }],
      [4 * minuteMs, { pages: 5, bills: 500, requests: 3, done: 1, recovered: 1, checked: 0.5 }],
    ]);
  });
});
