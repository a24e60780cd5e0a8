import { type Break, breakKinds } from "../../audit/breaks.ts";
import { epochMs } from "../../contract/time.ts";
import { type AccountStates, retiredSince } from "../../db/accounts/account-states.ts";
import { jsonTimeOrNull } from "../../output/json-times.ts";
import { type Columns, type Table, table } from "../../output/result.ts";

// Breaks, as reconcile, sync and breaks list show them.

/** A break, and whether its ledger is retired: breaks of retired ledgers stay. */
export type Marked<Entry extends Break> = Entry & { readonly isRetired: boolean };

export const markRetired =
  (states: AccountStates) =>
  <Entry extends Break>(entry: Entry): Marked<Entry> => ({
    ...entry,
    isRetired: retiredSince(states.of(entry.account), entry.productType) !== undefined,
  });

const epochOf = (time: string | null) => (time === null ? undefined : epochMs(Date.parse(time)));

const columns: Columns<Marked<Break>> = {
  break: { kind: "text", of: ({ breakId }) => `#${breakId}` },
  kind: { kind: "text", of: ({ kind }) => kind },
  wallet: {
    kind: "text",
    of: ({ account, productType, isRetired }) =>
      `${[account, productType].filter((part) => part !== "").join("/")}${isRetired ? " (retired)" : ""}`,
  },
  coin: { kind: "text", of: ({ coin }) => coin || null },
  happened: { kind: "time", of: ({ happenedAt }) => epochOf(happenedAt) },
  difference: { kind: "amount", title: "off by", of: ({ difference }) => wayOf(difference) },
  bill: { kind: "text", title: "first bad bill", of: ({ firstBadBill }) => firstBadBill },
  means: {
    kind: "text",
    title: "because",
    of: ({ kind, explanation }) => explanation || breakKinds[kind],
  },
};

/** "5 too much", "0.1 too little": how the observed amount lies to the expected one. */
const wayOf = (difference: string | null): string | null =>
  difference === null
    ? null
    : difference.startsWith("-")
      ? `${difference.slice(1)} too little`
      : `${difference} too much`;

/** The breaks for people. */
export const breaksTable = (breaks: readonly Marked<Break>[]): Table => table("", columns, breaks);

const decisionColumns: Columns<Marked<Break>> = {
  break: { kind: "text", of: ({ breakId }) => `#${breakId}` },
  state: { kind: "text", of: ({ state }) => state },
  at: {
    kind: "time",
    of: ({ decisions, resolvedAt }) => epochOf(resolvedAt ?? decisions.at(-1)?.decidedAt ?? null),
  },
  by: { kind: "text", of: ({ decisions }) => decisions.at(-1)?.decidedBy },
  note: { kind: "text", of: ({ decisions }) => decisions.at(-1)?.note },
};

/** The states of breaks that are not simply open, and the last decision on each, for people. */
export const decidedTable = (breaks: readonly Marked<Break>[]): Table =>
  table(
    "",
    decisionColumns,
    breaks.filter(({ state, decisions }) => state !== "open" || decisions.length > 0),
  );

/** A break for programs, with the decisions on it. */
export function breakJson(entry: Marked<Break>): object {
  const timeOf = (time: string | null) => jsonTimeOrNull(epochOf(time));
  return {
    ...entry,
    happenedAt: timeOf(entry.happenedAt),
    happenedAtMs: epochOf(entry.happenedAt) ?? null,
    firstSeenAt: timeOf(entry.firstSeenAt),
    acceptedAt: timeOf(entry.acceptedAt),
    resolvedAt: timeOf(entry.resolvedAt),
    decisions: entry.decisions.map((decision) => ({
      ...decision,
      decidedAt: timeOf(decision.decidedAt),
    })),
  };
}
