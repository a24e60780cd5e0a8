import { type EpochMs, epochMs } from "../../contract/time.ts";
import type { LoanToValueStatus, RecordsStatus } from "../../health/records.ts";
import { formatCounted, formatDuration, formatMinute } from "../../output/format.ts";
import { riskUnitName } from "../../output/stream-names.ts";
import type { Account } from "../../roster/account.ts";
import { riskUnitsOf } from "../../sync/sync-loan-to-value.ts";
import { jsonTime } from "../json-times.ts";

// Status of symbols, contracts and loan-to-value.

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

/**
 * A line each for the pairs, the contracts, and every stored or wanted risk unit, with the age of
 * each.
 */
export function recordsText(
  { symbols, contracts, loanToValue }: RecordsStatus,
  wanted: readonly RiskUnit[],
  now: EpochMs,
): string {
  const missing = wanted.filter((unit) => !loanToValue.some((stored) => isSame(stored, unit)));
  const symbolsLine =
    symbols === undefined
      ? "none yet"
      : `${formatCounted(symbols.pairs, "pair")}, ${symbols.gone} of them gone, ` +
        `read ${ageText(symbols.readAt, now)}`;
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
  const listed = formatCounted(sum(contracts.map(({ pairs }) => pairs)), "contract");
  const gone = sum(contracts.map((list) => list.gone));
  // The oldest of the lists.
  const readAt = epochMs(Math.min(...contracts.map((list) => list.readAt)));
  return [
    `symbols: ${symbolsLine}`,
    ...(contracts.length === 0
      ? []
      : [`contracts: ${listed}, ${gone} of them gone, read ${ageText(readAt, now)}`]),
    ...loanToValue.map(
      (unit) =>
        `${riskUnitName(unit)}: ltv ${unit.ltv ?? "-"} since ${formatMinute(unit.takenAt)}, ` +
        `read ${ageText(unit.heldUntil, now)}` +
        (wanted.some((one) => isSame(one, unit)) ? "" : "; not asked for any more"),
    ),
    ...missing.map((unit) => `${riskUnitName(unit)}: none yet`),
  ].join("\n");
}

const isSame = (a: RiskUnit, b: RiskUnit): boolean =>
  a.account === b.account && a.riskUnitId === b.riskUnitId;

const ageText = (time: EpochMs, now: EpochMs): string =>
  `${formatMinute(time)}, ${formatDuration(Math.max(0, now - time))} ago`;

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
