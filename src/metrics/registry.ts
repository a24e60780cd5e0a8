import { Gauge, Registry } from "prom-client";
import { secondMs } from "../contract/time.ts";
import { currentLoanToValue, isWanted } from "../reports/alerts.ts";
import type { Observations } from "../reports/observations.ts";
import type { StreamStatus } from "../reports/status.ts";
import { coverageShare } from "../reports/stream-times.ts";
import { lengthMs } from "../sync/intervals.ts";
import { programVersion } from "../version.ts";
import { type FleetCounts, fleetMetrics } from "./fleet-metrics.ts";
import type { Metric } from "./metric.ts";

export const metricPrefix = "bill_sync_";
const ledger = ["account", "product_type"] as const;

/** The metrics of what is stored. @param observations undefined where there are no tables yet. */
export function registryOf(observations?: Observations, counts?: FleetCounts): Registry {
  const registry = new Registry();
  const metrics = [
    buildInfo(),
    ...(counts === undefined ? [] : fleetMetrics(counts)),
    ...(observations === undefined ? [] : storedMetrics(observations)),
  ];
  for (const { name, help, labels, samples } of metrics) {
    const gauge = new Gauge({
      name: `${metricPrefix}${name}`,
      help,
      labelNames: [...labels],
      registers: [registry],
    });
    // Removed, because a gauge without labels starts at 0, which would be taken for a value.
    if (samples.every(({ value }) => value === undefined)) {
      registry.removeSingleMetric(`${metricPrefix}${name}`);
      continue;
    }
    for (const sample of samples)
      if (sample.value !== undefined) gauge.set({ ...sample.labels }, sample.value);
  }
  return registry;
}

const buildInfo = (): Metric => ({
  name: "build_info",
  help: "The program's version. Always 1.",
  labels: ["version"],
  samples: [{ labels: { version: programVersion() }, value: 1 }],
});

const storedMetrics = (observations: Observations): readonly Metric[] => [
  ...ledgerMetrics(observations),
  ...runMetrics(observations),
  ...recordMetrics(observations),
];

const seconds = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : ms / secondMs;

function ledgerMetrics({ status, breaks, readingOf }: Observations): readonly Metric[] {
  const { streams } = status;
  const each = (
    name: string,
    help: string,
    read: (status: StreamStatus) => number | undefined,
  ): Metric => ({
    name,
    help,
    labels: ledger,
    samples: streams.map((stream) => ({
      labels: { account: stream.stream.account, product_type: stream.stream.productType },
      value: read(stream),
    })),
  });
  const whileRead =
    (read: (status: StreamStatus) => number | undefined) => (stream: StreamStatus) =>
      isWanted(stream) ? read(stream) : undefined;
  return [
    {
      name: "ledger_info",
      help: "Always 1. The label state says whether syncs read the ledger: read, paused, retired or closed.",
      labels: [...ledger, "state"],
      samples: streams.map((stream) => ({
        labels: {
          account: stream.stream.account,
          product_type: stream.stream.productType,
          state: stateOf(stream),
        },
        value: 1,
      })),
    },
    each(
      "complete_through_timestamp_seconds",
      "The time through which nothing is missing, by the exchange's clock. Absent where nothing is complete, or the ledger is no longer read.",
      whileRead(({ completeThrough }) => seconds(completeThrough)),
    ),
    each(
      "coverage_expires_timestamp_seconds",
      "When the exchange begins to forget bills that were not read. Absent where nothing was read yet, or the ledger is no longer read.",
      whileRead(({ expiresAt }) => seconds(expiresAt)),
    ),
    each("coverage_ratio", "The share of the wanted time that was read and stored.", coverageShare),
    each("gap_seconds", "Time that a sync planned to read, and that was not read.", ({ gaps }) =>
      seconds(lengthMs(gaps)),
    ),
    each("lost_seconds", "Time that the exchange forgot before it was read.", ({ lost }) =>
      seconds(lengthMs(lost)),
    ),
    each(
      "last_loss_timestamp_seconds",
      "When time was last recorded as lost, by the database's clock. Absent where no time is lost.",
      ({ stream }) => seconds(readingOf(stream).lostAt),
    ),
    each("bills", "Stored bills.", ({ bills }) => bills),
    each(
      "rejected_bills",
      "Unresolved rows that broke the API's contract.",
      ({ rejected }) => rejected,
    ),
    each(
      "last_success_timestamp_seconds",
      "When a window of the ledger was last read to its end, by the database's clock.",
      ({ stream }) => seconds(readingOf(stream).succeededAt),
    ),
    {
      name: "ledger_breaks",
      help: "Places where the ledger does not add up, by the last reconcile. Absent for what was not reconciled.",
      labels: [...ledger, "coin", "state"],
      samples: breaks.map(({ account, productType, coin, state, breaks: value }) => ({
        labels: { account, product_type: productType, coin, state },
        value,
      })),
    },
  ];
}

function stateOf({ retiredAt, closedAt, pausedAt }: StreamStatus): string {
  if (retiredAt !== undefined) return "retired";
  if (closedAt !== undefined) return "closed";
  return pausedAt === undefined ? "read" : "paused";
}

function runMetrics({ runs }: Observations): readonly Metric[] {
  // The last run of each command that ended.
  const ended = [...Map.groupBy(runs, ({ command }) => command).values()].flatMap((own) =>
    own
      .filter(({ durationMs }) => durationMs !== undefined)
      .toSorted((a, b) => b.at - a.at)
      .slice(0, 1),
  );
  return [
    {
      name: "last_run_timestamp_seconds",
      help: "When the last run of a command with this outcome ended, or, while it runs, began; by the database's clock.",
      labels: ["command", "outcome"],
      samples: runs.map(({ command, outcome, at }) => ({
        labels: { command, outcome },
        value: seconds(at),
      })),
    },
    {
      name: "last_run_duration_seconds",
      help: "How long the last run of a command took that has ended.",
      labels: ["command"],
      samples: ended.map(({ command, durationMs }) => ({
        labels: { command },
        value: seconds(durationMs),
      })),
    },
    {
      name: "last_run_requests",
      help: "Requests of that run for bills, symbols and contracts. Absent where the run did not count them.",
      labels: ["command"],
      samples: ended.map(({ command, requests }) => ({ labels: { command }, value: requests })),
    },
  ];
}

function recordMetrics(observations: Observations): readonly Metric[] {
  const { symbols, contracts } = observations.records;
  const units = currentLoanToValue(observations).map(({ riskUnitId = "", ...record }) => ({
    ...record,
    labels: { account: record.account, risk_unit_id: riskUnitId },
  }));
  return [
    {
      name: "symbols_read_timestamp_seconds",
      help: "When the newest list of spot pairs was read.",
      labels: [],
      samples: [{ labels: {}, value: seconds(symbols?.readAt) }],
    },
    {
      name: "contracts_read_timestamp_seconds",
      help: "When the newest list of a product type's contracts was read.",
      labels: ["product_type"],
      samples: contracts.map(({ productType, readAt }) => ({
        labels: { product_type: productType },
        value: seconds(readAt),
      })),
    },
    {
      name: "ltv_ratio",
      help: "A risk unit's loan to value, to the precision of a float. Absent where it was not read for a week.",
      labels: ["account", "risk_unit_id"],
      samples: units.map(({ labels, ltv }) => ({
        labels,
        value: ltv === null ? undefined : Number(ltv),
      })),
    },
    {
      name: "ltv_read_timestamp_seconds",
      help: "When the risk unit's record was last read.",
      labels: ["account", "risk_unit_id"],
      samples: units.map(({ labels, heldUntil }) => ({ labels, value: seconds(heldUntil) })),
    },
  ];
}
