import type { EpochMs } from "../../contract/time.ts";
import { type Finding, remedyOf, sentenceOf, severityOf } from "../../health/kinds.ts";
import type { Verdict } from "../../health/verdict.ts";
import { type Columns, type Table, table } from "../../output/result.ts";

/** Nobody reads more ledgers or findings than this: totals and the worst say more. */
export const shownMax = 100;

const findingColumns = (now: EpochMs): Columns<Finding> => ({
  kind: { kind: "text", title: "", of: ({ kind }) => kind },
  severity: { kind: "text", of: severityOf },
  account: { kind: "text", title: "", of: ({ account }) => account },
  ledger: { kind: "text", title: "", of: ({ ledger }) => ledger },
  coin: { kind: "text", title: "", of: ({ coin }) => coin },
  since: { kind: "time", title: "", of: ({ since }) => since },
  until: { kind: "time", title: "", of: ({ until }) => until },
  count: { kind: "count", title: "", of: ({ count }) => count },
  detail: { kind: "text", title: "", of: ({ detail }) => detail },
  breakIds: { kind: "value", of: ({ breakIds }) => breakIds },
  isDemo: { kind: "value", of: ({ isDemo }) => isDemo },
  isPaused: { kind: "value", of: ({ isPaused }) => isPaused },
  text: { kind: "text", title: "finding", of: (finding) => sentenceOf(finding, now) },
  remedy: { kind: "text", title: "then", of: remedyOf },
});

/** The verdict, and each finding with the command that closes it. */
export const findingsParts = (
  findings: readonly Finding[],
  verdict: Verdict,
  now: EpochMs,
): readonly (Table | string)[] => [
  verdict.title,
  table("findings", findingColumns(now), findings),
  ...(findings.length >= shownMax ? ["there are more findings: --json has 10,000"] : []),
];

export const verdictJson = ({ title, severity, next }: Verdict) => ({
  verdict: { title, severity, next },
});
