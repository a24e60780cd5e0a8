import type { EpochMs } from "../../contract/time.ts";
import { type Finding, remedyOf, sentenceOf, severityOf, subjectOf } from "../../health/kinds.ts";
import type { Verdict } from "../../health/verdict.ts";
import { type Columns, rowsJson, type Table, table } from "../../output/result.ts";

/** Nobody reads more ledgers or findings than this: totals and the worst say more. */
export const shownMax = 100;

const findingColumns = (now: EpochMs): Columns<Finding> => ({
  kind: { kind: "text", of: ({ kind }) => kind },
  severity: { kind: "text", of: severityOf },
  account: { kind: "text", of: ({ account }) => account },
  ledger: { kind: "text", of: ({ ledger }) => ledger },
  coin: { kind: "text", of: ({ coin }) => coin },
  since: { kind: "time", of: ({ since }) => since },
  until: { kind: "time", of: ({ until }) => until },
  count: { kind: "count", of: ({ count }) => count },
  detail: { kind: "text", of: ({ detail }) => detail },
  breakIds: { kind: "value", of: ({ breakIds }) => breakIds },
  isDemo: { kind: "value", of: ({ isDemo }) => isDemo },
  isPaused: { kind: "value", of: ({ isPaused }) => isPaused },
  text: { kind: "text", of: (finding) => sentenceOf(finding, now) },
  remedy: { kind: "text", of: remedyOf },
});

/** Findings of which all but the subject is equal. */
type Alike = readonly [Finding, ...Finding[]];

/** How many subjects are named of findings that are alike. JSON has all. */
const namedMax = 4;

const alikeColumns = (now: EpochMs): Columns<Alike> => ({
  severity: { kind: "text", of: ([first]) => severityOf(first) },
  finding: {
    kind: "text",
    of: (alike) => {
      const names = alike.slice(0, namedMax).map(subjectOf);
      const more = alike.length - names.length;
      return `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}${whatOf(alike[0], now)}`;
    },
  },
  remedy: { kind: "text", title: "then", of: ([first]) => remedyOf(first) },
});

/** The sentence without its subject. */
const whatOf = (finding: Finding, now: EpochMs): string =>
  sentenceOf(finding, now).slice(subjectOf(finding).length);

/** The verdict, and each finding with the command that closes it. After a killed first sync, all ledgers have the same. */
export function findingsParts(
  findings: readonly Finding[],
  verdict: Verdict,
  now: EpochMs,
): readonly (Table | string)[] {
  const groups = Map.groupBy(findings.slice(0, shownMax), (finding) =>
    [severityOf(finding), whatOf(finding, now), remedyOf(finding)].join("\n"),
  );
  const alike = [...groups.values()].flatMap(([first, ...others]): Alike[] =>
    first === undefined ? [] : [[first, ...others]],
  );
  return [
    verdict.title,
    table("", alikeColumns(now), alike),
    ...(findings.length >= shownMax ? ["there are more findings: --json has 10,000"] : []),
  ];
}

export const verdictJson = (
  { title, severity, next }: Verdict,
  findings: readonly Finding[],
  now: EpochMs,
) => ({
  verdict: { title, severity, next },
  findings: rowsJson(findingColumns(now), findings),
});
