import type { EpochMs } from "../../contract/time.ts";
import { type Finding, remedyOf, sentenceOf, severityOf } from "../../health/kinds.ts";
import type { Verdict } from "../../health/verdict.ts";
import { jsonTimeOrNull } from "../json-times.ts";

// The verdict, and each finding with its remedy.

type Found = {
  readonly findings: readonly Finding[];
  readonly verdict: Verdict;
  /** The exchange's time; undefined before the first migration. */
  readonly now: EpochMs | undefined;
};

const epoch = 0 as EpochMs;

export function findingsLines(
  { findings, verdict, now = epoch }: Found,
  shownMax: number,
): readonly string[] {
  const lines = findings.slice(0, shownMax).map((finding) => {
    const severity = finding.isDemo ? "demo" : severityOf(finding);
    const remedy = remedyOf(finding);
    return `${severity.padEnd(8)}  ${sentenceOf(finding, now)}${remedy === "" ? "" : `; ${remedy}`}`;
  });
  const isCut = findings.length >= shownMax;
  return [verdict.title, ...lines, ...(isCut ? ["there are more: see --json"] : []), ""];
}

export const findingsJson = ({ findings, verdict, now = epoch }: Found): object => ({
  verdict: { title: verdict.title, severity: verdict.severity, next: verdict.next },
  findings: findings.map((finding) => ({
    kind: finding.kind,
    severity: severityOf(finding),
    account: finding.account,
    ledger: finding.ledger,
    coin: finding.coin,
    since: jsonTimeOrNull(finding.since),
    until: jsonTimeOrNull(finding.until),
    count: finding.count,
    detail: finding.detail,
    breakIds: finding.breakIds,
    isDemo: finding.isDemo,
    isPaused: finding.isPaused,
    text: sentenceOf(finding, now),
    remedy: remedyOf(finding),
  })),
});
