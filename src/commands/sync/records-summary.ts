import { jsonTime } from "../../app/json-times.ts";
import { messageOf } from "../../errors.ts";
import { printableLine } from "../../printable.ts";
import type { LoanToValueReport } from "../../sync/sync-loan-to-value.ts";
import type { BrokenRow, SymbolsReport } from "../../sync/sync-symbols.ts";
import { formatCounted } from "../../terminal/format.ts";
import { riskUnitName } from "../../terminal/stream-names.ts";

// What a sync says of symbols and of loan-to-value.

const brokenShownMax = 5;

/** What came of the pairs; why nothing came of them stands among the failures. */
export function symbolsLines({ stored, broken }: SymbolsReport): readonly string[] {
  const rest = broken.length - brokenShownMax;
  return [
    ...(stored === undefined ? [] : [`symbols: ${storedText(stored)}`]),
    ...broken.slice(0, brokenShownMax).map(brokenLine),
    ...(rest > 0 ? [`symbols: and ${formatCounted(rest, "more row")} like these`] : []),
  ];
}

function storedText(stored: NonNullable<SymbolsReport["stored"]>): string {
  const pairs = formatCounted(stored.pairs, "pair");
  if (stored.isOutdated) return `${pairs}, not stored: another run has stored a newer list`;
  const { new: added, changed, returned, gone } = stored;
  return `${pairs}, ${added} new, ${changed} changed, ${returned} returned, ${gone} gone`;
}

const brokenLine = ({ name, fault: { path, reason } }: BrokenRow): string =>
  `symbols: ${printableLine(name)} was not stored, it broke the API's contract: ` +
  printableLine(`${path} ${reason}`);

const changeText = {
  first: "the first record",
  changed: "changed",
  unchanged: "unchanged",
  outdated: "not stored: a newer record is",
} as const;

/** What came of a risk unit; nothing where it failed. */
export function loanToValueLine(report: LoanToValueReport): readonly string[] {
  if (report.stored === undefined) return [];
  const { record, change } = report.stored;
  const { ltv, usdtBalance, unpaidUsdtAmount } = record;
  const isEmpty = [ltv, usdtBalance, unpaidUsdtAmount].every((value) => value === null);
  const values = isEmpty
    ? "the record is empty, there seems to be no loan"
    : `ltv ${ltv ?? "-"}, assets ${usdtBalance ?? "-"} USDT, unpaid ${unpaidUsdtAmount ?? "-"} USDT`;
  return [`${riskUnitName(report)}: ${values} (${changeText[change]})`];
}

/** The same for programs. */
export const symbolsJson = ({ stored, broken, requests, error }: SymbolsReport): object => ({
  ...(stored === undefined ? {} : { ...stored, readAt: jsonTime(stored.readAt) }),
  requests,
  broken: broken.map(({ name, fault }) => ({ name, ...fault })),
  ...(error === undefined ? {} : { error: messageOf(error) }),
});

export const loanToValueJson = ({ riskUnitId, stored, error }: LoanToValueReport): object => ({
  riskUnitId: riskUnitId ?? null,
  ...(stored === undefined
    ? {}
    : {
        takenAt: jsonTime(stored.takenAt),
        change: stored.change,
        ltv: stored.record.ltv,
        usdtBalance: stored.record.usdtBalance,
        unpaidUsdtAmount: stored.record.unpaidUsdtAmount,
      }),
  ...(error === undefined ? {} : { error: messageOf(error) }),
});
