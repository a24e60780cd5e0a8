import type { EpochMs } from "../../contract/time.ts";
import type { FindingCount } from "../../health/findings.ts";
import type { Totals } from "../../health/ledgers.ts";
import { formatCount, formatCounted, formatDuration, formatMinute } from "../../output/format.ts";

// What more ledgers than a person reads come to.

export function totalsLines(
  { accounts, ledgers, bills, settledTo, pausedSettledTo, ...counts }: Totals,
  findings: readonly FindingCount[],
  now: EpochMs,
): readonly string[] {
  const age = (time: EpochMs) => `${formatMinute(time)}, ${formatDuration(now - time)} ago`;
  const states = (["paused", "closed", "retired"] as const).filter((state) => counts[state] > 0);
  return [
    ...findings.map(
      ({ kind, isDemo, ledgers: found }) =>
        `${isDemo ? "demo " : ""}${kind}: ${formatCounted(found, "ledger")}`,
    ),
    `${formatCounted(accounts, "account")}, ${formatCounted(ledgers, "ledger")}, ` +
      `${formatCounted(bills, "bill")}; syncs read ${formatCounted(counts.read, "ledger")}`,
    ...(settledTo === undefined
      ? []
      : [`all that are read are complete through ${age(settledTo)}`]),
    ...states.map(
      (state) =>
        `${formatCounted(counts[state], "ledger")} ${counts[state] === 1 ? "is" : "are"} ${state}`,
    ),
    ...(pausedSettledTo === undefined
      ? []
      : [`paused ledgers are complete through ${age(pausedSettledTo)}`]),
  ];
}

export type Page = { readonly [name in "limit" | "offset" | "ledgers"]: number };

export function pageLine({ limit, offset, ledgers }: Page, shown: number): string {
  const rest =
    offset + shown < ledgers ? `; --limit ${limit} --offset ${offset + shown} shows the next` : "";
  const after = offset === 0 ? "" : ` after the first ${formatCount(offset)}`;
  return `the worst ${formatCount(shown)} of ${formatCounted(ledgers, "ledger")}${after}${rest}:`;
}
