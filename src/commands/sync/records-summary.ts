import { messageOf } from "../../errors.ts";
import { formatCounted } from "../../output/format.ts";
import { jsonTime } from "../../output/json-times.ts";
import type { Columns } from "../../output/result.ts";
import { riskUnitName } from "../../output/stream-names.ts";
import { printableLine } from "../../printable.ts";
import type { BrokenRow, ContractsReport, ListReport } from "../../sync/settings-lists.ts";
import type { LoanToValueReport } from "../../sync/sync-loan-to-value.ts";

// What a sync did with symbols, contracts and loan-to-value. What is as it was is not told.

export type NamedList = ListReport & { readonly name: string };

export const contractsName = ({ productType }: ContractsReport): string =>
  `contracts of ${productType}`;

/** Whether a list is not as it was before. */
export const isNews = ({ stored }: NamedList): boolean =>
  stored !== undefined &&
  (stored.isOutdated || stored.new + stored.changed + stored.returned + stored.gone > 0);

export const listColumns: Columns<NamedList> = {
  name: { kind: "text", title: "list", of: ({ name }) => name },
  entries: { kind: "count", of: ({ stored }) => stored?.pairs },
  new: { kind: "count", of: ({ stored }) => stored?.new },
  changed: { kind: "count", of: ({ stored }) => stored?.changed },
  returned: { kind: "count", of: ({ stored }) => stored?.returned },
  gone: { kind: "count", of: ({ stored }) => stored?.gone },
  stored: {
    kind: "text",
    of: ({ stored }) => (stored?.isOutdated ? "no: another run has stored a newer list" : "yes"),
  },
};

export const isChanged = ({ stored }: LoanToValueReport): boolean =>
  stored !== undefined && stored.change !== "unchanged";

export const loanColumns: Columns<LoanToValueReport> = {
  name: { kind: "text", title: "risk unit", of: riskUnitName },
  ltv: { kind: "amount", of: ({ stored }) => stored?.record.ltv },
  assets: { kind: "amount", title: "assets USDT", of: ({ stored }) => stored?.record.usdtBalance },
  unpaid: {
    kind: "amount",
    title: "unpaid USDT",
    of: ({ stored }) => stored?.record.unpaidUsdtAmount,
  },
  record: { kind: "text", of: ({ stored }) => stored && changeText[stored.change] },
};

const changeText = {
  first: "the first",
  changed: "changed",
  unchanged: "unchanged",
  outdated: "not stored: a newer one is",
} as const;

const brokenShownMax = 5;

export function brokenLines(name: string, broken: readonly BrokenRow[]): readonly string[] {
  const more = broken.length - brokenShownMax;
  return [
    ...broken
      .slice(0, brokenShownMax)
      .map(
        ({ name: row, fault: { path, reason } }) =>
          `${name}: ${printableLine(row)} was not stored: it broke the API's contract: ` +
          printableLine(`${path} ${reason}`),
      ),
    ...(more > 0 ? [`${name}: and ${formatCounted(more, "more row")} like these`] : []),
  ];
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
