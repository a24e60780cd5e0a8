import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { alertsText, shownAlert } from "../src/commands/status/alerts-status.ts";
import { dayMs, type EpochMs, epochMs, hourMs, minuteMs } from "../src/contract/time.ts";
import { registryOf } from "../src/metrics/registry.ts";
import { type AlertName, alertNames, alertsOf } from "../src/reports/alerts.ts";
import type { FleetTotals } from "../src/reports/fleet.ts";
import type { LastReading, Observations } from "../src/reports/observations.ts";
import type { StreamStatus } from "../src/reports/status.ts";
import {
  alertRules,
  hasPromtool,
  judgeRules,
  promtool,
  type RuleCase,
  seriesOf,
} from "./support/promtool.ts";

/** Hours since 1970: promtool's tests begin there, and judge every minute. */
const now = epochMs(5 * hourMs);
const ago = (ms: number) => epochMs(now - ms);
const limits = { maxAgeMs: 3 * hourMs, ltvMax: 0.8 };
const day = (from: number, to: number) => ({ from: ago(from * dayMs), to: ago(to * dayMs) });

const usdt = { account: "main", productType: "USDT-FUTURES" } as const;
const ledger = { account: "main", product_type: "USDT-FUTURES" };

const stream = (changes: Partial<StreamStatus> = {}): StreamStatus => ({
  stream: usdt,
  bills: 1_234,
  rejected: 0,
  completeThrough: ago(70 * minuteMs),
  coverage: [day(15, 0)],
  settling: [],
  unproven: [],
  gaps: [],
  lost: [],
  unread: [],
  retiredAt: undefined,
  closedAt: undefined,
  closedUnread: [],
  expiresAt: epochMs(now + 89 * dayMs),
  ...changes,
});

const run = { command: "sync", outcome: "complete", at: ago(hourMs) } as const;
const healthy: Observations = {
  status: { now, lastRun: undefined, streams: [stream()], accounts: [] },
  records: { symbols: undefined, contracts: [], loanToValue: [] },
  breaks: [],
  runs: [{ ...run, durationMs: 12_500, requests: 40 }],
  readingOf: () => ({ succeededAt: ago(hourMs), lostAt: undefined }),
};

const ofStreams = (
  streams: readonly StreamStatus[],
  lostAt: EpochMs | undefined = undefined,
): Observations => ({
  ...healthy,
  status: { ...healthy.status, streams },
  readingOf: (): LastReading => ({ succeededAt: undefined, lostAt }),
});
const ofLoan = (ltv: string | null, readAgoMs: number, riskUnitId?: string): Observations => ({
  ...healthy,
  records: {
    ...healthy.records,
    loanToValue: [
      { account: "main", riskUnitId, ltv, takenAt: ago(9 * dayMs), heldUntil: ago(readAgoMs) },
    ],
  },
});
const ofBreaks = (
  ...counts: readonly (readonly ["open" | "signed off" | "resolved", number])[]
) => ({
  ...healthy,
  breaks: counts.map(([state, breaks]) => ({ ...usdt, coin: "USDT", state, breaks })),
});

/** The labels with which an alert fires. */
type Firing = readonly [AlertName, Readonly<Record<string, string>>];
const loan = { account: "main", risk_unit_id: "" };
const cases: readonly (readonly [string, Observations, readonly Firing[]])[] = [
  ["all is well", healthy, []],
  ["no sync ever ran", { ...healthy, runs: [] }, [["BillSyncAbsent", { command: "sync" }]]],
  [
    "the last sync failed, and another command succeeded",
    { ...healthy, runs: healthy.runs.map((one) => ({ ...one, outcome: "failed" })) },
    [],
  ],
  ["complete through 3 hours ago", ofStreams([stream({ completeThrough: ago(3 * hourMs) })]), []],
  [
    "complete through a minute more than 3 hours ago",
    // The alert was pending for five minutes before.
    ofStreams([stream({ completeThrough: ago(3 * hourMs + 6 * minuteMs) })]),
    [["BillSyncStale", ledger]],
  ],
  [
    "never complete",
    ofStreams([stream({ completeThrough: undefined, expiresAt: undefined })]),
    [["BillSyncStale", { ...ledger, state: "read" }]],
  ],
  [
    "one of two never complete",
    ofStreams([
      stream(),
      stream({ stream: { ...usdt, account: "desk" }, completeThrough: undefined }),
    ]),
    [["BillSyncStale", { ...ledger, account: "desk", state: "read" }]],
  ],
  [
    "retired long ago, and closed",
    ofStreams([
      stream({ retiredAt: ago(dayMs), completeThrough: ago(9 * dayMs), expiresAt: undefined }),
      stream({
        stream: { ...usdt, productType: "COIN-FUTURES" },
        closedAt: ago(dayMs),
        completeThrough: undefined,
        expiresAt: undefined,
      }),
    ]),
    [],
  ],
  ["8 days until time expires", ofStreams([stream({ expiresAt: epochMs(now + 8 * dayMs) })]), []],
  [
    "6 days until time expires, and it has begun to",
    ofStreams([
      stream({ expiresAt: epochMs(now + 6 * dayMs) }),
      stream({ stream: { ...usdt, account: "desk" }, expiresAt: ago(hourMs) }),
    ]),
    [
      ["BillSyncExpires", ledger],
      ["BillSyncExpires", { ...ledger, account: "desk" }],
    ],
  ],
  ["rejected rows", ofStreams([stream({ rejected: 2 })]), [["BillSyncRejected", ledger]]],
  ["breaks that are signed off or resolved", ofBreaks(["signed off", 2], ["resolved", 3]), []],
  [
    "an open break among others",
    ofBreaks(["open", 1], ["signed off", 2]),
    [["BillSyncBreak", { ...ledger, coin: "USDT", state: "open" }]],
  ],
  ["a loan at its limit", ofLoan("0.8", hourMs), []],
  ["a loan above it", ofLoan("0.80001", hourMs), [["BillSyncLoanToValue", loan]]],
  ["a loan without a rate", ofLoan(null, hourMs), []],
  [
    "a high loan that was not read for hours",
    ofLoan("0.9", 4 * hourMs, "12"),
    [
      ["BillSyncLoanToValue", { ...loan, risk_unit_id: "12" }],
      ["BillSyncLoanToValueStale", { ...loan, risk_unit_id: "12" }],
    ],
  ],
  ["a high loan that was not read for a week", ofLoan("0.9", 7 * dayMs), []],
];

const labelNames: Readonly<Record<string, string>> = {
  product_type: "productType",
  risk_unit_id: "riskUnitId",
};

test.each(cases)("status --check names the alerts where %s", (_, observations, firing) => {
  const found = alertsOf(observations, limits).map(({ name, on }) => [name, on]);
  const expected = firing.map(([name, labels]) => [
    name,
    Object.fromEntries(
      Object.entries(labels)
        .filter(([label]) => label !== "state" && label !== "command")
        .map(([label, value]) => [labelNames[label] ?? label, value]),
    ),
  ]);
  expect(found).toEqual(expected);
});

describe("time that was lost", () => {
  const lost = (agoMs: number) => ofStreams([stream({ lost: [day(95, 92)] })], ago(agoMs));
  // Promtool's clock begins in 1970. The time was lost 2 hours later.
  const lostS = 2 * 3_600;

  test("is told for a day", () => {
    const names = (agoMs: number) => alertsOf(lost(agoMs), limits).map(({ name }) => name);
    expect(names(dayMs - 1)).toEqual(["BillSyncLost"]);
    expect(names(dayMs)).toEqual([]);
  });

  test("is told by Prometheus for a day, too, since when it was found", async () => {
    const text = await registryOf(lost(3 * hourMs)).metrics();
    expect(seriesOf(text, "bill_sync_last_loss_timestamp_seconds")).toEqual({
      'account="main",product_type="USDT-FUTURES"': lostS,
    });
    expect(seriesOf(text, "bill_sync_lost_seconds")).toEqual({
      'account="main",product_type="USDT-FUTURES"': 3 * 86_400,
    });
    const firing = [["BillSyncLost", ledger]] as const;
    if (!hasPromtool) return console.log(withoutPromtool);
    const judge = (agoS: number, own: RuleCase["firing"]) =>
      judgeRules([{ name: "lost", text, firing: own }], lostS + agoS, ["BillSyncLost"]);
    expect(await judge(23 * 3_600, firing)).toBe("as expected");
    expect(await judge(25 * 3_600, [])).toBe("as expected");
  });
});

const withoutPromtool =
  "promtool is not installed: the alert rules were judged by status --check alone";

test("the rules of ops/alerts.yaml fire for the same", async () => {
  const rules = readFileSync(alertRules, "utf8");
  expect([...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name)).toEqual(alertNames);
  if (!hasPromtool) return console.log(withoutPromtool);
  expect(await promtool(["check", "rules", "--lint-fatal", alertRules])).toMatchObject({ code: 0 });
  const judged = await Promise.all(
    cases.map(async ([name, observations, firing]) => ({
      name,
      text: await registryOf(observations).metrics(),
      firing,
    })),
  );
  for (const [unreachable, firing] of [
    [[], []],
    [["north", "south"], [["BillSyncUnreachable", {}]]],
  ] as const) {
    const counts = { totals: noTotals, unread: 0, listed: 1, unreachable };
    const name = `${unreachable.length} accounts cannot be read`;
    judged.push({ name, text: await registryOf(healthy, counts).metrics(), firing });
  }
  expect(await judgeRules(judged, now / 1_000, alertNames)).toBe("as expected");
});

test("each alert is a line that says whose and why", () => {
  const [, , , , behind, never, , , , expires, rejected, , breaks, , high, , stale] = cases.map(
    ([, observations]) => alertsText(alertsOf(observations, limits).map(shownAlert)),
  );
  expect([behind, never, expires, rejected, breaks, high, stale]).toEqual([
    "ALERT BillSyncStale: main/USDT-FUTURES is complete through 3 h 6 m ago, and no later",
    "ALERT BillSyncStale: main/USDT-FUTURES was never read completely",
    "ALERT BillSyncExpires: main/USDT-FUTURES has time that was not read and is lost in 6 d\n" +
      "ALERT BillSyncExpires: desk/USDT-FUTURES has time that was not read and is being lost",
    "ALERT BillSyncRejected: main/USDT-FUTURES has 2 rows in rejected_bills",
    "ALERT BillSyncBreak: main/USDT-FUTURES/USDT has 1 open break",
    "ALERT BillSyncLoanToValue: main/loan-to-value is at 0.80001, above 0.8",
    "ALERT BillSyncLoanToValue: main/loan-to-value/12 is at 0.9, above 0.8\n" +
      "ALERT BillSyncLoanToValueStale: main/loan-to-value/12 was read 4 h ago, and not since",
  ]);
  expect(alertsText([])).toBe("no alert");
});

describe("the metrics", () => {
  const nameOf = (labels: Record<string, string>) =>
    Object.entries(labels)
      .map(([label, value]) => `${label}="${value}"`)
      .join();

  test("have no sample of what is not known, and 0 of what is known to be none", async () => {
    const unread = ofStreams([
      stream({ completeThrough: undefined, expiresAt: undefined, bills: 0 }),
    ]);
    const running = {
      ...run,
      outcome: "running",
      durationMs: undefined,
      requests: undefined,
    } as const;
    const text = await registryOf({ ...unread, runs: [running] }).metrics();
    expect(text).not.toMatch(
      /complete_through|expires|last_success|last_run_duration|last_run_requests|symbols_read|ltv|breaks/,
    );
    expect(seriesOf(text, "bill_sync_bills")).toEqual({ [nameOf(ledger)]: 0 });
    expect(seriesOf(text, "bill_sync_gap_seconds")).toEqual({ [nameOf(ledger)]: 0 });
    const nothing = await registryOf(undefined).metrics();
    expect(nothing).toMatch(
      /^# HELP bill_sync_build_info .*\n# TYPE .* gauge\nbill_sync_build_info\{version="[\d.]+"\} 1\n$/,
    );
  });

  test("keep a name's quotes, line ends and backslashes apart", async () => {
    const odd = { ...usdt, account: 'a"b\\c\nd' };
    const text = await registryOf(ofStreams([stream({ stream: odd })])).metrics();
    expect(text).toContain(
      'bill_sync_bills{account="a\\"b\\\\c\\nd",product_type="USDT-FUTURES"} 1234',
    );
    if (!hasPromtool) return console.log(withoutPromtool);
    expect(await promtool(["check", "metrics"], text)).toEqual({ code: 0, output: "" });
  });

  test("of a command are those of its last run that came to an end", async () => {
    const runs = [
      { ...run, outcome: "failed", at: ago(1_000), durationMs: 1_500, requests: 3 },
      { ...run, at: ago(hourMs), durationMs: 12_500, requests: 40 },
      { ...run, outcome: "running", at: ago(0), durationMs: undefined, requests: undefined },
      { ...run, command: "verify", at: ago(dayMs), durationMs: 500, requests: undefined },
    ] as const;
    const text = await registryOf({ ...healthy, runs }).metrics();
    expect(seriesOf(text, "bill_sync_last_run_timestamp_seconds")).toEqual({
      'command="sync",outcome="failed"': ago(1_000) / 1_000,
      'command="sync",outcome="complete"': ago(hourMs) / 1_000,
      'command="sync",outcome="running"': now / 1_000,
      'command="verify",outcome="complete"': ago(dayMs) / 1_000,
    });
    expect(seriesOf(text, "bill_sync_last_run_duration_seconds")).toEqual({
      'command="sync"': 1.5,
      'command="verify"': 0.5,
    });
    expect(seriesOf(text, "bill_sync_last_run_requests")).toEqual({ 'command="sync"': 3 });
  });
});

const noTotals: FleetTotals = {
  ...{ accounts: 0, ledgers: 0, bills: 0, wanted: 0, retired: 0, closed: 0, paused: 0 },
  ...{ stale: 0, expiring: 0, withGaps: 0, withLoss: 0, lostLately: 0, rejected: 0, broken: 0 },
  ...{ settledTo: undefined, pausedSettledTo: undefined },
};

describe("docs/metrics.md and ops/", () => {
  const page = readFileSync("docs/metrics.md", "utf8");
  const documented = new Map(
    [...page.matchAll(/^\| `(bill_sync_[a-z_]+)` \| ([a-z_, ]*)\|/gm)].map(
      ([, name = "", labels = ""]) => [name, labels.split(/[, ]+/).filter(Boolean).toSorted()],
    ),
  );

  test("name each metric with its labels", async () => {
    const all = {
      ...ofLoan("0.5", hourMs),
      ...ofBreaks(["open", 1]),
      records: {
        symbols: { pairs: 1, gone: 0, readAt: now },
        contracts: [{ productType: "USDT-FUTURES", pairs: 1, gone: 0, readAt: now }],
        loanToValue: ofLoan("0.5", hourMs).records.loanToValue,
      },
      readingOf: (): LastReading => ({ succeededAt: ago(hourMs), lostAt: ago(hourMs) }),
    };
    const counts = { totals: noTotals, unread: 0, listed: 1, unreachable: ["south"] };
    const metrics = await registryOf(all, counts).getMetricsAsJSON();
    const printed = metrics.map(({ name, values }) => [
      name,
      Object.keys(values[0]?.labels ?? {}).toSorted(),
    ]);
    const stored = [...documented].filter(([name]) => !/_(http|auth)_/.test(name));
    expect(stored.toSorted()).toEqual(printed.toSorted());
  });

  test.each(["ops/alerts.yaml", "ops/dashboard.json"])("%s asks for no other metrics", (path) => {
    const asked = [...readFileSync(path, "utf8").matchAll(/\bbill_sync_[a-z_]+/g)].map(([name]) =>
      name.replace(/_bucket$/, ""),
    );
    expect(asked.length).toBeGreaterThan(8);
    expect(asked.filter((name) => !documented.has(name))).toEqual([]);
  });

  test("the alerts are those of the rules", () => {
    const section = page.slice(page.indexOf("## Alerts"));
    const named = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(named).toEqual([...alertNames]);
  });

  test("the dashboard's panels lie beside each other, each with a question", () => {
    const { panels } = JSON.parse(readFileSync("ops/dashboard.json", "utf8")) as {
      panels: readonly {
        id: number;
        title: string;
        gridPos: { x: number; y: number; w: number; h: number };
        targets: readonly { expr: string }[];
      }[];
    };
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { targets } of panels) expect(targets.length).toBeGreaterThan(0);
  });
});
