import { type EpochMs, epochMs } from "../../contract/time.ts";
import type { FailedJob, QueueStatus } from "../../fleet/queue-status.ts";
import type { LastRun } from "../../health/ledger-status.ts";
import type { LoanToValueStatus, RecordsStatus } from "../../health/records.ts";
import { formatCount, formatCounted, formatTime } from "../../output/format.ts";
import { jsonTime, jsonTimeOrNull } from "../../output/json-times.ts";
import { type Columns, type Table, table } from "../../output/result.ts";
import { riskUnitName } from "../../output/stream-names.ts";
import { printableLine } from "../../printable.ts";
import type { Account } from "../../roster/account.ts";
import { riskUnitsOf } from "../../sync/sync-loan-to-value.ts";

// Status of symbols, contracts and loan-to-value, of the workers' queue, and of the last run.

type RiskUnit = Pick<LoanToValueStatus, "account" | "riskUnitId">;

/** The risk units that these accounts are configured to read. */
export const wantedRiskUnits = (
  accounts: readonly Pick<Account, "name" | "ltv" | "riskUnitIds">[],
): readonly RiskUnit[] =>
  accounts
    .filter(({ ltv = false }) => ltv)
    .flatMap(({ name, riskUnitIds = [] }) =>
      riskUnitsOf(riskUnitIds).map((riskUnitId) => ({ account: name, riskUnitId })),
    );

type KeptRecord = {
  readonly name: string;
  readonly what?: string;
  readonly readAt?: EpochMs | undefined;
};

/** A line each for the pairs, the contracts, and every stored or wanted risk unit, with the age of each. */
export function recordsTable(
  { symbols, contracts, loanToValue }: RecordsStatus,
  wanted: readonly RiskUnit[],
  now: EpochMs,
): Table {
  const missing = wanted.filter((unit) => !loanToValue.some((stored) => isSame(stored, unit)));
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
  const listed = {
    pairs: sum(contracts.map((list) => list.pairs)),
    gone: sum(contracts.map((list) => list.gone)),
  };
  const listText = ({ pairs, gone }: typeof listed, noun: string) =>
    `${formatCounted(pairs, noun)}, ${gone} gone`;
  const rows: readonly KeptRecord[] = [
    ...(symbols === undefined
      ? []
      : [{ name: "symbols", what: listText(symbols, "pair"), readAt: symbols.readAt }]),
    ...(contracts.length === 0
      ? []
      : [
          {
            name: "contracts",
            what: listText(listed, "contract"),
            // The oldest of the lists.
            readAt: epochMs(Math.min(...contracts.map((list) => list.readAt))),
          },
        ]),
    ...loanToValue.map((unit) => ({
      name: riskUnitName(unit),
      what: `ltv ${unit.ltv ?? "-"}`,
      readAt: unit.heldUntil,
    })),
    ...missing.map((unit) => ({ name: riskUnitName(unit) })),
  ];
  const columns: Columns<KeptRecord> = {
    name: { kind: "text", title: "records", of: ({ name }) => name },
    what: { kind: "text", title: "kept", of: ({ what }) => what },
    readAt: { kind: "time", title: "read", of: ({ readAt }) => readAt },
    age: { kind: "length", of: ({ readAt }) => readAt && Math.max(0, now - readAt) },
  };
  return table("", columns, rows);
}

const isSame = (a: RiskUnit, b: RiskUnit): boolean =>
  a.account === b.account && a.riskUnitId === b.riskUnitId;

/** The records' status for programs. */
export const recordsJson = (
  { symbols, contracts, loanToValue }: RecordsStatus,
  wanted: readonly RiskUnit[],
): object => ({
  symbols: symbols === undefined ? null : { ...symbols, readAt: jsonTime(symbols.readAt) },
  contracts: contracts.map((list) => ({ ...list, readAt: jsonTime(list.readAt) })),
  loanToValue: loanToValue.map((unit) => ({
    ...unit,
    riskUnitId: unit.riskUnitId ?? null,
    configured: wanted.some((one) => isSame(one, unit)),
    takenAt: jsonTime(unit.takenAt),
    heldUntil: jsonTime(unit.heldUntil),
  })),
});

/** How many failed jobs a person is shown. JSON has all. */
const shownMax = 10;

/** The workers' queue; no lines if there never was one. */
export function queueLines(queue: QueueStatus | undefined): readonly string[] {
  if (queue === undefined) return [];
  const { waiting, atWork, failed } = queue;
  const more = failed.length - shownMax;
  return [
    `queue: ${formatCounted(waiting, "job")} waiting, ${formatCount(atWork)} at work, ` +
      `${formatCount(failed.length)} failed`,
    ...failed.slice(0, shownMax).map(failedLine),
    ...(more > 0 ? [`queue: ${formatCount(more)} more failed: see --json`] : []),
  ];
}

const failedLine = ({ name, failedAt, why }: FailedJob): string =>
  `${printableLine(name)}: given up at ${formatTime(failedAt)}: ${printableLine(why)}`;

export const queueJson = (queue: QueueStatus | undefined) => ({
  queue:
    queue === undefined
      ? null
      : {
          ...queue,
          failed: queue.failed.map((job) => ({ ...job, failedAt: jsonTime(job.failedAt) })),
        },
});

export function lastRunText(run: LastRun | undefined): string {
  if (run === undefined) return "no run yet";
  const { command, startedAt, finishedAt, outcome, error } = run;
  const start = `last run: ${command}, ${formatTime(startedAt)}`;
  if (finishedAt === undefined) return `${start}: still running, or killed`;
  return `${start} to ${formatTime(finishedAt)}: ${outcome}${error === null ? "" : ` (${error})`}`;
}

export const lastRunJson = (run: LastRun | undefined) => ({
  lastRun:
    run === undefined
      ? null
      : { ...run, startedAt: jsonTime(run.startedAt), finishedAt: jsonTimeOrNull(run.finishedAt) },
});
