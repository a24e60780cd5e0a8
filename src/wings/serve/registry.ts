import { sql } from "drizzle-orm";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Config } from "../../accounts/config.ts";
import { type ReadRoster, rosterReader } from "../../accounts/roster.ts";
import { kindNames, severityOf } from "../../check/health/finding-kinds.ts";
import type { Limits } from "../../check/health/finding-rows.ts";
import { countFindings } from "../../check/health/findings.ts";
import { readLists, readLoans, readTotals } from "../../check/health/ledgers.ts";
import type { Io } from "../../commands/io.ts";
import { openStored } from "../../commands/stored.ts";
import type { Queryable } from "../../core/postgres/connect.ts";
import type { Outcome } from "../../core/postgres/run-log.ts";
import { readExchangeTime } from "../../core/store/known-time.ts";
import { dayMs, secondMs } from "../../lib/time.ts";
import { programVersion } from "../../lib/version.ts";
import { done, type Result } from "../../output/result.ts";

/** The last run of a command with some outcome; "running" is one. */
type LastRun = {
  readonly command: string;
  readonly outcome: Outcome | "running";
  /** When it ended, or, while it runs, began: by the database's clock, in s since 1970. */
  readonly at: number;
  /** In s; null while it runs. */
  readonly duration: number | null;
  /** Of reconcile: how many bills it read again and stored. A sync lists them by ledger. */
  readonly healed?: number | null;
};

/**
 * The last run of each command and outcome in the log, oldest first. Each step looks up the next pair in the index. Queried by
 * equality, Postgres scanned the whole log for each outcome that was not in it: 13 s for a year's runs.
 */
async function readLastRuns(db: Queryable): Promise<readonly LastRun[]> {
  const { rows } = await db.execute<LastRun>(sql`
    with recursive last as (
      (
        select command, outcome, run_id
        from runs
        order by command desc, outcome desc, started_at desc
        limit 1
      )
      union all
      select before.command, before.outcome, before.run_id
      from last
      cross join lateral (
        select command, outcome, run_id
        from runs
        where (command, outcome) < (last.command, last.outcome)
        order by command desc, outcome desc, started_at desc
        limit 1
      ) as before
    )
    select
      run.command,
      run.outcome,
      extract(epoch from coalesce(finished_at, started_at))::float8 as at,
      extract(epoch from finished_at - started_at)::float8 as duration,
      case run.command when 'reconcile' then (run.counts ->> 'healed')::float8 end as healed
    from last
    join runs as run using (run_id)
    order by at`);
  return rows;
}

/** Samples with the same labels add up. A gauge without a sample is left out: 0 would be taken for a value. */
type StoredGauge = {
  readonly help: string;
  readonly labels: readonly string[];
  readonly samples: (stored: StoredMetrics) => readonly Sample[];
};
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

type MetricsQuestion = {
  readonly readRoster: ReadRoster;
  readonly limits: Limits;
};

/** What the metrics are made of. */
export type StoredMetrics = Awaited<ReturnType<typeof readMetrics>>;

// A loan to value that is older says nothing of the present.
const loanMaxMs = 7 * dayMs;

export async function readMetrics(db: Queryable, { limits, readRoster }: MetricsQuestion) {
  const now = await readExchangeTime(db);
  const loans = await readLoans(db);
  const roster = await readRoster(db);
  return {
    findings: await countFindings(db, { roster, limits, now }),
    totals: await readTotals(db, {}),
    runs: await readLastRuns(db),
    lists: await readLists(db),
    loans: loans.filter(({ lastSeenAt }) => now - lastSeenAt < loanMaxMs),
  };
}

/**
 * @param stored undefined where there are no tables yet.
 */
export function registryOf(stored?: StoredMetrics): Registry {
  const registry = new Registry();
  const registers = [registry];
  new Gauge({
    name: "bill_sync_build_info",
    help: "The program's version. Always 1.",
    labelNames: ["version"],
    registers,
  }).set({ version: programVersion() }, 1);
  if (stored === undefined) return registry;
  for (const [name, { help, labels, samples }] of Object.entries(gauges)) {
    const values = samples(stored);
    if (values.length === 0) continue;
    const gauge = new Gauge({ name, help, labelNames: [...labels], registers });
    for (const [of, value] of values) gauge.inc({ ...of }, value);
  }
  return registry;
}

// Nobody draws more loans. The highest are kept.
const loansMax = 1_000;

/** The gauges of what is stored, by name. */
export const gauges: Readonly<Record<string, StoredGauge>> = {
  bill_sync_findings: {
    help: "What is wrong with the stored ledgers, or not certain.",
    labels: ["kind", "severity"],
    samples: ({ findings }) =>
      [
        // A sample of 0 of each kind that is not found, so that an alert ends.
        ...kindNames.map((kind) => ({ kind, findings: 0 })),
        ...findings,
      ].map((one) => [{ kind: one.kind, severity: severityOf(one) }, one.findings]),
  },
  bill_sync_read_through_timestamp_seconds: {
    help: "The first time that is neither read, lost nor recovered, of any ledger that syncs read, by the exchange's clock.",
    labels: [],
    samples: ({ totals: { readThrough } }) =>
      readThrough === undefined ? [] : [[{}, readThrough / secondMs]],
  },
  bill_sync_accounts: {
    help: "Accounts with a ledger that a sync has planned to read.",
    labels: [],
    samples: ({ totals }) => [[{}, totals.accounts]],
  },
  bill_sync_ledgers: {
    help: "Ledgers that a sync has planned to read, by state.",
    labels: ["state"],
    samples: ({ totals }) =>
      (["active", "retired", "ended"] as const).map((state) => [{ state }, totals[state]]),
  },
  bill_sync_stored_bills: {
    help: "Bills that are stored.",
    labels: [],
    samples: ({ totals }) => [[{}, totals.bills]],
  },
  bill_sync_last_run_timestamp_seconds: {
    help: "When the last run of a command with this outcome ended, or, while it runs, began; by the database's clock.",
    labels: ["command", "outcome"],
    samples: ({ runs }) => runs.map(({ command, outcome, at }) => [{ command, outcome }, at]),
  },
  bill_sync_last_run_duration_seconds: {
    help: "How long the last ended run of a command took.",
    labels: ["command"],
    samples: ({ runs }) => {
      const ended = runs.flatMap(({ command, duration }) =>
        duration === null ? [] : [[command, duration] as const],
      );
      // The newest run of each command.
      return [...new Map(ended)].map(([command, duration]) => [{ command }, duration]);
    },
  },
  bill_sync_last_run_healed_bills: {
    help: "Bills that the last check read again, since the balances did not add up, and stored.",
    labels: [],
    samples: ({ runs }) => {
      const healed = runs.findLast((run) => typeof run.healed === "number")?.healed;
      return typeof healed === "number" ? [[{}, healed]] : [];
    },
  },
  bill_sync_list_read_timestamp_seconds: {
    help: "When the newest list of spot pairs, or of a product type's contracts, was read.",
    labels: ["list"],
    samples: ({ lists }) => lists.map(({ list, readAt }) => [{ list }, readAt / secondMs]),
  },
  bill_sync_ltv_ratio: {
    help: "A risk unit's loan to value, to the precision of a float. Absent where it was not read for a week.",
    labels: ["account", "risk_unit_id"],
    samples: ({ loans }) =>
      loans
        .flatMap(({ account, riskUnitId, ltv }): readonly Sample[] =>
          ltv === null ? [] : [[{ account, risk_unit_id: riskUnitId }, Number(ltv)]],
        )
        .toSorted(([, a], [, b]) => b - a)
        .slice(0, loansMax),
  },
};

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
    name: "bill_sync_http_requests_total",
    help: "Requests that were answered.",
    labelNames: ["method", "route", "status"],
    registers,
  });
  const durations = new Histogram({
    name: "bill_sync_http_request_duration_seconds",
    help: "How long an answer took, to its last byte.",
    labelNames: ["route"],
    buckets: bucketsS,
    registers,
  });
  const failures = new Counter({
    name: "bill_sync_auth_failures_total",
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

/** `status --format prometheus`: prints what is stored in the format of Prometheus. */
export async function metricsCommand(config: Config, io: Io): Promise<Result> {
  await using stored = await openStored(config, io);
  const { db } = stored;
  const question = { readRoster: rosterReader(config), limits: config.healthLimits };
  const text = await registryOf(db && (await readMetrics(db, question))).metrics();
  return done(text.trimEnd());
}
