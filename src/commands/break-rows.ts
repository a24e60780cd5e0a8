import { type Break, type BreakKind, breakKinds } from "../audit/breaks.ts";
import { epochMs } from "../contract/time.ts";
import { type AccountStates, retiredSince } from "../db/accounts/account-states.ts";
import { formatCounted, formatDuration, jsonTime } from "../output/format.ts";
import { type Column, type Columns, fields, type Table, table } from "../output/result.ts";

// Breaks, as reconcile, sync and breaks list show them.

/** A break, and whether its ledger is retired: breaks of retired ledgers stay. */
export type Marked = Break & { readonly isRetired: boolean };

export const markRetired =
  (states: AccountStates) =>
  (entry: Break): Marked => ({
    ...entry,
    isRetired: retiredSince(states.of(entry.account), entry.productType) !== undefined,
  });

/** A restated bill is a notice, and no fault of the ledger. */
export const isFault = ({ kind }: Pick<Break, "kind">): boolean => kind !== "restatement";

const epochOf = (time: string | null) => (time === null ? undefined : epochMs(Date.parse(time)));

const time = (key: "firstSeenAt" | "acceptedAt" | "resolvedAt"): Column<Marked> => ({
  kind: "time",
  title: "",
  of: (entry) => epochOf(entry[key]),
});

/** A break's amount, or how many bills or how much time it is of. */
const sizeOf = (kind: BreakKind, size: string): string => {
  if (kind === "deleted" || kind === "restatement") return formatCounted(Number(size), "bill");
  return kind === "lost" ? formatDuration(Number(size)) : size;
};

const columns: Columns<Marked> = {
  break: { kind: "text", isForPeople: true, of: ({ breakId }) => `#${breakId}` },
  ...fields<Marked>("text", ["kind"]),
  ...fields<Marked>("value", ["breakId", "account", "productType"]),
  wallet: {
    kind: "text",
    isForPeople: true,
    of: ({ account, productType, isRetired }) =>
      `${[account, productType].filter((part) => part !== "").join("/")}${isRetired ? " (retired)" : ""}`,
  },
  coin: { kind: "text", of: ({ coin }) => coin || null },
  happenedAt: { kind: "time", title: "happened", of: ({ happenedAt }) => epochOf(happenedAt) },
  happenedAtMs: { kind: "value", of: ({ happenedAt }) => epochOf(happenedAt) },
  ...fields<Marked>("value", ["expected", "observed", "difference", "lastGoodBill"]),
  offBy: {
    kind: "amount",
    isForPeople: true,
    // How what was observed lies to what was expected.
    of: ({ kind, difference }) =>
      difference &&
      (difference.startsWith("-")
        ? `${sizeOf(kind, difference.slice(1))} too little`
        : `${sizeOf(kind, difference)} too much`),
  },
  firstBadBill: { kind: "text", title: "first bad bill", of: ({ firstBadBill }) => firstBadBill },
  because: {
    kind: "text",
    of: ({ kind, explanation }) => explanation || breakKinds[kind],
  },
  ...fields<Marked>("value", ["isRetired", "state", "note", "acceptedBy"]),
  firstSeenAt: time("firstSeenAt"),
  acceptedAt: time("acceptedAt"),
  resolvedAt: time("resolvedAt"),
  decisions: {
    kind: "value",
    of: ({ decisions }) =>
      decisions.map((decision) => ({
        ...decision,
        decidedAt: jsonTime(epochMs(Date.parse(decision.decidedAt))),
      })),
  },
};

/** @param name empty where programs are not given them. */
export const breaksTable = (name: string, breaks: readonly Marked[]): Table =>
  table(name, columns, breaks);

const decisionColumns: Columns<Marked> = {
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
export const decidedTable = (breaks: readonly Marked[]): Table =>
  table(
    "",
    decisionColumns,
    breaks.filter(({ state, decisions }) => state !== "open" || decisions.length > 0),
  );
