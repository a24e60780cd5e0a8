import { sql } from "drizzle-orm";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { dayMs, secondMs } from "../contract/time.ts";
import type { Queryable } from "../db/connect.ts";
import { lastRuns, type Outcome } from "../db/run-log.ts";
import { countFindings } from "../health/findings.ts";
import { kindNames, severityOf } from "../health/kinds.ts";
import { readLists, readLoans, readTotals } from "../health/ledgers.ts";
import type { Limits } from "../health/select.ts";
import { readExchangeTime } from "../ledger/known-time.ts";
import type { ReadRoster } from "../roster/roster.ts";
import { programVersion } from "../version.ts";

/** The last run of a command with some outcome; "running" is one. */
type LastRun = {
  readonly command: string;
  readonly outcome: Outcome | "running";
  /** When it ended, or, while it runs, began: by the database's clock, in s since 1970. */
  readonly at: number;
  /** In s; null while it runs. */
  readonly duration: number | null;
};

/** The last run of each command and outcome in the log, oldest first. */
async function readLastRuns(db: Queryable): Promise<readonly LastRun[]> {
  const { rows } = await db.execute<LastRun>(sql`
    with recursive ${lastRuns}
    select
      run.command,
      run.outcome,
      extract(epoch from coalesce(finished_at, started_at))::float8 as at,
      extract(epoch from finished_at - started_at)::float8 as duration
    from last
    join runs as run using (run_id)
    order by at`);
  return rows;
}

const metricPrefix = "bill_sync_";

/**
 * A gauge's name without the prefix, its help and samples. Samples with the same labels add up. Without a sample it
 * is left out: 0 would be taken for a value.
 */
type Metric = readonly [name: string, help: string, samples: readonly Sample[]];
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

type MetricsQuestion = {
  readonly readRoster: ReadRoster;
  readonly limits: Limits;
  /** Only these accounts; default all. */
  readonly accounts?: readonly string[] | undefined;
};

/** What the metrics are made of. */
export type StoredMetrics = Awaited<ReturnType<typeof readMetrics>>;

// A loan to value that is older says nothing of the present.
const loanMaxMs = 7 * dayMs;

export async function readMetrics(
  db: Queryable,
  { accounts, limits, readRoster }: MetricsQuestion,
) {
  const now = await readExchangeTime(db, accounts);
  const loans = await readLoans(db, accounts);
  const roster = await readRoster(db, accounts);
  return {
    findings: await countFindings(db, { roster, limits, accounts, now }),
    totals: await readTotals(db, { accounts }),
    runs: await readLastRuns(db),
    lists: await readLists(db),
    loans: loans.filter(({ heldUntil }) => now - heldUntil < loanMaxMs),
  };
}

/**
 * @param stored of the accounts whose rows can be read; undefined where there are no tables yet.
 * @param unreachable how many accounts cannot be read, which is a finding of each.
 */
export function registryOf(stored?: StoredMetrics, unreachable = 0): Registry {
  const registry = new Registry();
  const metrics: readonly Metric[] = [
    ["build_info", "The program's version. Always 1.", [[{ version: programVersion() }, 1]]],
    ...(stored === undefined ? [] : storedMetrics(stored, unreachable)),
  ];
  for (const [name, help, samples] of metrics) {
    const [first] = samples;
    if (first === undefined) continue;
    const gauge = new Gauge({
      name: `${metricPrefix}${name}`,
      help,
      labelNames: Object.keys(first[0]),
      registers: [registry],
    });
    for (const [labels, value] of samples) gauge.inc({ ...labels }, value);
  }
  return registry;
}

// Nobody draws more loans. The highest are kept.
const loansMax = 1_000;

const storedMetrics = (
  { findings, totals, runs, lists, loans }: StoredMetrics,
  unreachable: number,
): readonly Metric[] => [
  [
    "findings",
    "What is wrong with the stored ledgers, or not certain. Findings of demo trading are notices.",
    [
      // A sample of 0 of each kind that is not found, so that an alert ends.
      ...kindNames.map((kind) => ({ kind, isDemo: false, findings: 0 })),
      ...findings,
      { kind: "unreachable" as const, isDemo: false, findings: unreachable },
    ].map((one) => [{ kind: one.kind, severity: severityOf(one) }, one.findings]),
  ],
  [
    "complete_through_timestamp_seconds",
    "Up to when every ledger that syncs read is complete, by the exchange's clock.",
    totals.completeThrough === undefined ? [] : [[{}, totals.completeThrough / secondMs]],
  ],
  ["accounts", "Accounts with a ledger that a sync has planned to read.", [[{}, totals.accounts]]],
  [
    "ledgers",
    "Ledgers that a sync has planned to read, by state.",
    (["active", "paused", "retired", "closed"] as const).map((state) => [{ state }, totals[state]]),
  ],
  ["stored_bills", "Bills that are stored.", [[{}, totals.bills]]],
  [
    "last_run_timestamp_seconds",
    "When the last run of a command with this outcome ended, or, while it runs, began; by the database's clock.",
    runs.map(({ command, outcome, at }) => [{ command, outcome }, at]),
  ],
  [
    "last_run_duration_seconds",
    "How long the last ended run of a command took.",
    // The newest run of each command.
    [
      ...new Map(
        runs.flatMap(({ command, duration }) =>
          duration === null ? [] : [[command, duration] as const],
        ),
      ),
    ].map(([command, duration]) => [{ command }, duration]),
  ],
  [
    "list_read_timestamp_seconds",
    "When the newest list of spot pairs, or of a product type's contracts, was read.",
    lists.map(({ list, readAt }) => [{ list }, readAt / secondMs]),
  ],
  [
    "ltv_ratio",
    "A risk unit's loan to value, to the precision of a float. Absent where it was not read for a week.",
    loans
      .flatMap(({ account, riskUnitId, ltv }): readonly Sample[] =>
        ltv === null ? [] : [[{ account, risk_unit_id: riskUnitId }, Number(ltv)]],
      )
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, loansMax),
  ],
];

/** What a server counts about its own answers since it started. */
export type HttpMetrics = ReturnType<typeof createHttpMetrics>;

type Answered = {
  readonly method: string;
  /** The server's name of the route, not the path that a client wrote, which may be anything. */
  readonly route: string;
  readonly status: number;
  readonly ms: number;
};

// A page of 100 bills takes some milliseconds; a page of HTML or a download takes up to seconds.
const bucketsS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function createHttpMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const requests = new Counter({
    name: `${metricPrefix}http_requests_total`,
    help: "Requests that were answered.",
    labelNames: ["method", "route", "status"],
    registers,
  });
  const durations = new Histogram({
    name: `${metricPrefix}http_request_duration_seconds`,
    help: "How long an answer took, to its last byte.",
    labelNames: ["route"],
    buckets: bucketsS,
    registers,
  });
  const failures = new Counter({
    name: `${metricPrefix}auth_failures_total`,
    help: "Requests whose key or signature was refused, by the code of the refusal.",
    labelNames: ["code"],
    registers,
  });
  return {
    registry,
    answered({ method, route, status, ms }: Answered): void {
      requests.inc({ method, route, status: String(status) });
      durations.observe({ route }, ms / secondMs);
    },
    /** @param code of the exchange's, as 40009. */
    authFailed: (code: string): void => failures.inc({ code }),
  };
}
