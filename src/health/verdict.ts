import { formatDuration } from "../output/format.ts";
import { printableLine } from "../printable.ts";
import { type Finding, type Kind, kindNames, kinds, remedyOf, type Severity } from "./kinds.ts";

/** What was accepted of real money: what is wrong, and is settled. */
export type Accepted = {
  /** The sums of accepted differences; decimals as text. */
  readonly differences: readonly { readonly coin: string; readonly difference: string }[];
  readonly lostMs: number;
};

export type Verdict = {
  /** The worst kind of real money; undefined where nothing is found. */
  readonly kind: Kind | undefined;
  readonly severity: Severity | "good";
  readonly title: string;
  /** What to type, worst first, each once. */
  readonly next: readonly string[];
};

const commandsMax = 3;

/** The verdict in a sentence, which names what was accepted. */
export function verdictOf(findings: readonly Finding[], accepted?: Accepted): Verdict {
  const ofMoney = findings
    .filter(({ isDemo }) => !isDemo)
    .toSorted((a, b) => kindNames.indexOf(a.kind) - kindNames.indexOf(b.kind));
  const [worst] = ofMoney;
  const next = [...new Set(ofMoney.map(remedyOf))].filter((command) => command !== "");
  return {
    kind: worst?.kind,
    severity: worst === undefined ? "good" : kinds[worst.kind].severity,
    title: worst === undefined ? goodTitle(accepted) : kinds[worst.kind].title,
    next: next.slice(0, commandsMax),
  };
}

const goodTitle = (accepted?: Accepted): string => {
  const parts = acceptedParts(accepted);
  return parts.length === 0 ? "Complete, and it adds up" : `Complete, with ${parts.join(" and ")}`;
};

/** What was accepted, in words; empty if nothing was. */
export function acceptedParts({ differences = [], lostMs = 0 }: Partial<Accepted> = {}) {
  const sums = differences.map(({ coin, difference }) => `${difference} ${printableLine(coin)}`);
  return [
    ...(sums.length === 0 ? [] : [`accepted differences of ${sums.join(", ")}`]),
    ...(lostMs === 0 ? [] : [`an accepted loss of ${formatDuration(lostMs)}`]),
  ];
}

/** The accounts whose rows cannot be read: no query finds them. */
export const unreachableFindings = (
  unreachable: readonly { readonly account: string }[],
): readonly Finding[] =>
  unreachable.map(({ account }) => ({ ...bare, kind: "unreachable", account }));

const bare = {
  ...{
    account: "",
    ledger: "",
    coin: "",
    since: undefined,
    until: undefined,
    count: 1,
    detail: "",
  },
  ...{ breakIds: [], isRepairable: false, isDemo: false, isPaused: false },
} as const;

/** The finding of a database without tables. */
export const neverSynced: Finding = { ...bare, kind: "never-synced" };
