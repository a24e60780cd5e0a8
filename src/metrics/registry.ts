import { sql } from "drizzle-orm";
import { Gauge, Registry } from "prom-client";
import { type EpochMs, secondMs } from "../contract/time.ts";
import type { ReadReachable, Unreachable } from "../db/citus.ts";
import type { Queryable } from "../db/connect.ts";
import { readExchangeTime } from "../db/exchange-time.ts";
import { lastRuns, type Outcome } from "../db/run-log.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";
import { countFindings, type FindingCount } from "../health/findings.ts";
import { kindNames, severityOf } from "../health/kinds.ts";
import { readTotals, type Totals } from "../health/ledgers.ts";
import { type RecordsStatus, readRecords } from "../health/records.ts";
import type { Limits } from "../health/select.ts";
import type { ReadRoster } from "../roster/roster.ts";
import { programVersion } from "../version.ts";

/** The last run of a command with some outcome; "running" is one. */
export type RunFacts = {
  readonly command: string;
  readonly outcome: Outcome | "running";
  /** By the database's clock: when the run ended, or, where it has not, when it began. */
  readonly at: EpochMs;
  /** Undefined where the run has not ended. */
  readonly durationMs: number | undefined;
  /** Requests for bills, symbols and contracts; undefined where the run stored no counts. */
  readonly requests: number | undefined;
};

/** The last run of each command and outcome in the log. */
async function readRunFacts(db: Queryable): Promise<readonly RunFacts[]> {
  const { rows } = await db.execute<{
    command: string;
    outcome: RunFacts["outcome"];
    at: string;
    duration: string | null;
    requests: string | null;
  }>(sql`
    with recursive ${lastRuns}
    select
      run.command,
      run.outcome,
      ${msOf(sql`coalesce(finished_at, started_at)`)} as at,
      extract(epoch from finished_at - started_at) * 1000 as duration,
      (
        select sum(value::numeric)
        from jsonb_path_query(counts, 'strict $.**.requests') as value
      ) as requests
    from last
    join sync_runs as run using (run_id)
    order by run.command, run.outcome`);
  return rows.map(({ at, duration, requests, ...run }) => ({
    ...run,
    at: timeFrom(at),
    durationMs: duration === null ? undefined : Number(duration),
    requests: requests === null ? undefined : Number(requests),
  }));
}

export const metricPrefix = "bill_sync_";

type Labels = Readonly<Record<string, string>>;
/** A gauge and its samples. Its name has no prefix. An unknown value has no sample: 0 would claim that it is known. */
type Metric = {
  readonly name: string;
  readonly help: string;
  readonly samples: readonly {
    readonly labels: Labels;
    readonly value: number | undefined;
  }[];
};

export type MetricsQuestion = {
  readonly readRoster: ReadRoster;
  readonly limits: Limits;
  /** Only these accounts; default all. */
  readonly accounts?: readonly string[] | undefined;
};

/** What the metrics are made of. */
export type StoredMetrics = {
  readonly findings: readonly FindingCount[];
  readonly totals: Totals;
  readonly runs: readonly RunFacts[];
  readonly records: RecordsStatus;
};

export async function readMetrics(
  db: Queryable,
  { accounts, limits, readRoster }: MetricsQuestion,
): Promise<StoredMetrics> {
  const now = await readExchangeTime(db, accounts);
  const records = await readRecords(db, accounts);
  const roster = await readRoster(db, accounts);
  return {
    findings: await countFindings(db, { roster, limits, accounts, now }),
    totals: await readTotals(db, { accounts }),
    runs: await readRunFacts(db),
    records: { ...records, loanToValue: records.loanToValue.filter(isOfPresent(now)) },
  };
}

// A record that is older than a week says nothing of the present.
const isOfPresent =
  (now: number) =>
  ({ heldUntil }: { readonly heldUntil: number }): boolean =>
    now - heldUntil < 7 * 86_400 * secondMs;

export type ReachableMetrics = {
  readonly registry: Registry;
  readonly unreachable: readonly Unreachable[];
};

/** The metrics of the accounts whose rows can be read; the others are findings. */
export async function readReachableMetrics(
  readReachable: ReadReachable,
  read: (accounts: readonly string[] | undefined) => Promise<StoredMetrics>,
): Promise<ReachableMetrics> {
  const { result, unreachable } = await readReachable(read);
  return { registry: registryOf(result, unreachable.length), unreachable };
}

/** @param stored undefined where there are no tables yet. @param unreachable how many accounts cannot be read. */
export function registryOf(stored?: StoredMetrics, unreachable = 0): Registry {
  const registry = new Registry();
  const metrics = [
    gauge("build_info", "The program's version. Always 1.", [
      { labels: { version: programVersion() }, value: 1 },
    ]),
    ...(stored === undefined ? [] : storedMetrics(stored, unreachable)),
  ];
  for (const { name, help, samples } of metrics) {
    const known = samples.filter(({ value }) => value !== undefined);
    // A gauge without labels starts at 0, which would be taken for a value.
    if (known.length === 0) continue;
    const made = new Gauge({
      name: `${metricPrefix}${name}`,
      help,
      labelNames: Object.keys(known[0]?.labels ?? {}),
      registers: [registry],
    });
    for (const { labels, value = 0 } of known) made.set({ ...labels }, value);
  }
  return registry;
}

const gauge = (name: string, help: string, samples: Metric["samples"]): Metric => ({
  name,
  help,
  samples,
});
const one = (name: string, help: string, value: number | undefined): Metric =>
  gauge(name, help, [{ labels: {}, value }]);
const seconds = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : ms / secondMs;

const storedMetrics = (stored: StoredMetrics, unreachable: number): readonly Metric[] => [
  findingsMetric(stored.findings, unreachable),
  ...totalMetrics(stored.totals),
  ...runMetrics(stored.runs),
  ...recordMetrics(stored.records),
];

/** A sample of 0 of each kind that is not found, so that an alert ends. */
function findingsMetric(found: readonly FindingCount[], unreachable: number): Metric {
  const counts = [
    ...kindNames.map((kind) => ({ kind, isDemo: false, findings: 0 })),
    ...found,
    { kind: "unreachable" as const, isDemo: false, findings: unreachable },
  ];
  const byLabels = Map.groupBy(counts, (count) => `${count.kind} ${severityOf(count)}`);
  return gauge(
    "findings",
    "What is wrong with what is stored, or not known to be right. Findings of demo trading are notices.",
    [...byLabels.values()].flatMap((counted) => {
      const [first] = counted;
      if (first === undefined) return [];
      const value = counted.reduce((sum, { findings }) => sum + findings, 0);
      return [{ labels: { kind: first.kind, severity: severityOf(first) }, value }];
    }),
  );
}

const totalMetrics = ({ settledTo, ...totals }: Totals): readonly Metric[] => [
  one(
    "complete_through_timestamp_seconds",
    "The time through which every ledger that syncs read is complete, by the exchange's clock.",
    seconds(settledTo),
  ),
  one("accounts", "Accounts of which a ledger was ever to be read.", totals.accounts),
  gauge(
    "ledgers",
    "Ledgers that were ever to be read, by whether syncs are to read them still.",
    (["read", "paused", "retired", "closed"] as const).map((state) => ({
      labels: { state },
      value: totals[state],
    })),
  ),
  one("stored_bills", "Bills that are stored.", totals.bills),
];

function runMetrics(runs: readonly RunFacts[]): readonly Metric[] {
  // The last run of each command that ended.
  const ended = [...Map.groupBy(runs, ({ command }) => command).values()].flatMap((own) =>
    own
      .filter(({ durationMs }) => durationMs !== undefined)
      .toSorted((a, b) => b.at - a.at)
      .slice(0, 1),
  );
  return [
    gauge(
      "last_run_timestamp_seconds",
      "When the last run of a command with this outcome ended, or, while it runs, began; by the database's clock.",
      runs.map(({ command, outcome, at }) => ({
        labels: { command, outcome },
        value: seconds(at),
      })),
    ),
    gauge(
      "last_run_duration_seconds",
      "How long the last run of a command took that has ended.",
      ended.map(({ command, durationMs }) => ({ labels: { command }, value: seconds(durationMs) })),
    ),
    gauge(
      "last_run_requests",
      "Requests of that run for bills, symbols and contracts. Absent where the run did not count them.",
      ended.map(({ command, requests }) => ({ labels: { command }, value: requests })),
    ),
  ];
}

// Nobody draws more loans. The highest are kept.
const loansMax = 1_000;

const recordMetrics = ({ symbols, contracts, loanToValue }: RecordsStatus): readonly Metric[] => [
  one(
    "symbols_read_timestamp_seconds",
    "When the newest list of spot pairs was read.",
    seconds(symbols?.readAt),
  ),
  gauge(
    "contracts_read_timestamp_seconds",
    "When the newest list of a product type's contracts was read.",
    contracts.map(({ productType, readAt }) => ({
      labels: { product_type: productType },
      value: seconds(readAt),
    })),
  ),
  gauge(
    "ltv_ratio",
    "A risk unit's loan to value, to the precision of a float. Absent where it was not read for a week.",
    loanToValue
      .toSorted((a, b) => Number(b.ltv ?? 0) - Number(a.ltv ?? 0))
      .slice(0, loansMax)
      .map(({ account, riskUnitId = "", ltv }) => ({
        labels: { account, risk_unit_id: riskUnitId },
        value: ltv === null ? undefined : Number(ltv),
      })),
  ),
];
