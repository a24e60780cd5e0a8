import type { AccountReport } from "./run.ts";

/**
 * Whether nothing is missing: there was no error, every window was walked, no row was rejected, no time was
 * found lost, no ledger ended with unread time, and no millisecond of tax records may hold more than was shown.
 * Tax records that are not believed, or that the key may not read, are a notice: the ledger is what it was without them.
 */
export function isComplete(report: AccountReport): boolean {
  const { error, ended = [], loanToValue, ledgers, recovery = [] } = report;
  return (
    error === undefined &&
    recovery.every(
      (one) => one.error === undefined && one.rejected === 0 && one.partlyRecovered.length === 0,
    ) &&
    ended.every(({ unread }) => unread.length === 0) &&
    loanToValue.every((unit) => unit.error === undefined) &&
    ledgers.every(
      ({ error, windowsPlanned, windowsRead, rejected, lost }) =>
        error === undefined &&
        windowsRead === windowsPlanned &&
        rejected === 0 &&
        lost.length === 0,
    )
  );
}
