import { messageOf } from "../../errors.ts";
import { formatCounted } from "../../output/format.ts";
import { jsonTime } from "../../output/json-times.ts";
import { riskUnitName } from "../../output/stream-names.ts";
import { printableLine } from "../../printable.ts";
import type {
  BrokenRow,
  ContractsReport,
  ListReport,
  SymbolsReport,
} from "../../sync/settings-lists.ts";
import type { LoanToValueReport } from "../../sync/sync-loan-to-value.ts";

// A sync's summary of symbols, contracts and loan-to-value.

const brokenShownMax = 5;

/** The result for pairs. Errors are listed among the failures. */
export const symbolsLines = ({ stored, broken }: SymbolsReport): readonly string[] => [
  ...(stored === undefined || isUnchanged(stored)
    ? []
    : [`symbols: ${storedText(stored, "pair")}`]),
  ...brokenLines("symbols", broken),
];

export const contractsName = ({ productType }: ContractsReport): string =>
  `contracts of ${productType}`;

/** The result for contracts: one line for all product types whose lists were stored. */
export function contractsLines(lists: readonly ContractsReport[]): readonly string[] {
  const taken = lists.flatMap(({ stored }) => (stored?.isOutdated === false ? [stored] : []));
  const sum = (pick: (counts: Stored) => number) =>
    taken.reduce((total, counts) => total + pick(counts), 0);
  const all = {
    pairs: sum(({ pairs }) => pairs),
    new: sum((counts) => counts.new),
    changed: sum(({ changed }) => changed),
    returned: sum(({ returned }) => returned),
    gone: sum(({ gone }) => gone),
    isOutdated: false,
  };
  return [
    ...(isUnchanged(all) ? [] : [`contracts: ${storedText(all, "contract")}`]),
    ...lists.flatMap((list) => [
      ...(list.stored?.isOutdated === true
        ? [`${contractsName(list)}: ${storedText(list.stored, "contract")}`]
        : []),
      ...brokenLines(contractsName(list), list.broken),
    ]),
  ];
}

type Stored = Omit<NonNullable<ListReport["stored"]>, "readAt">;

/** Whether a list was stored as it was before: that is not worth a line. */
const isUnchanged = (stored: Stored): boolean =>
  !stored.isOutdated && stored.new + stored.changed + stored.returned + stored.gone === 0;

function storedText(stored: Stored, noun: string): string {
  const pairs = formatCounted(stored.pairs, noun);
  if (stored.isOutdated) return `${pairs}, not stored: another run has stored a newer list`;
  const { new: added, changed, returned, gone } = stored;
  return `${pairs}, ${added} new, ${changed} changed, ${returned} returned, ${gone} gone`;
}

function brokenLines(list: string, broken: readonly BrokenRow[]): readonly string[] {
  const rest = broken.length - brokenShownMax;
  return [
    ...broken.slice(0, brokenShownMax).map((row) => brokenLine(list, row)),
    ...(rest > 0 ? [`${list}: and ${formatCounted(rest, "more row")} like these`] : []),
  ];
}

const brokenLine = (list: string, { name, fault: { path, reason } }: BrokenRow): string =>
  `${list}: ${printableLine(name)} was not stored: it broke the API's contract: ` +
  printableLine(`${path} ${reason}`);

const changeText = {
  first: "the first record",
  changed: "changed",
  outdated: "not stored: a newer record is",
} as const;

/** The result for a risk unit; no line if it failed, or is what it was. */
export function loanToValueLine(report: LoanToValueReport): readonly string[] {
  if (report.stored === undefined || report.stored.change === "unchanged") return [];
  const { record, change } = report.stored;
  const { ltv, usdtBalance, unpaidUsdtAmount } = record;
  const isEmpty = [ltv, usdtBalance, unpaidUsdtAmount].every((value) => value === null);
  const values = isEmpty
    ? "the record is empty, there seems to be no loan"
    : `ltv ${ltv ?? "-"}, assets ${usdtBalance ?? "-"} USDT, unpaid ${unpaidUsdtAmount ?? "-"} USDT`;
  return [`${riskUnitName(report)}: ${values} (${changeText[change]})`];
}

/** A list's result, for programs. */
export const symbolsJson = ({ stored, broken, requests, error }: ListReport): object => ({
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
