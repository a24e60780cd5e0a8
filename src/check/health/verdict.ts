import { printableLine } from "../../lib/printable.ts";
import { type EpochMs, epochMs, hourMs } from "../../lib/time.ts";
import { formatCounted } from "../../output/text.ts";
import { type Accepted, acceptedParts } from "./accepted.ts";
import {
  breaksNamedMax,
  type Finding,
  findingKinds,
  type Kind,
  kindNames,
  remedyOf,
  type Severity,
  sentenceOf,
  severityOf,
  subjectOf,
} from "./finding-kinds.ts";

export type Verdict = {
  /** The worst kind; undefined where nothing is found. */
  readonly kind: Kind | undefined;
  readonly severity: Severity | "good";
  readonly title: string;
  /** The commands to type, worst first, each once. */
  readonly next: readonly string[];
};

/** A line for one finding, or for several that are alike. */
export type HeadLine = {
  readonly severity: Severity;
  readonly text: string;
  readonly remedy: string;
  /** How many findings it tells of. */
  readonly count: number;
};

/** The line, and of what does not add up the command that helps. */
export const lineOf = ({ severity, text, remedy }: HeadLine): string =>
  severity === "critical" && remedy !== "" ? `${text}; ${remedy}` : text;

/** More accounts than this share one line. */
const accountsNamedMax = 4;

/** Ledgers of one run are read a second apart. */
const hourOf = (time: EpochMs | undefined) => time && Math.round(time / hourMs);

/**
 * A line a kind, account and period, in the order of the findings. What has no end is one line: after a sync, all ledgers of
 * an account are behind by nearly the same.
 */
export function headLines(findings: readonly Finding[], now: EpochMs): readonly HeadLine[] {
  const alike = Map.groupBy(findings, (one) =>
    JSON.stringify([
      ...[one.kind, one.detail, one.isRepairable],
      one.unconfigured && remedyOf(one),
      // Amounts of several ledgers do not add up.
      one.difference && [one.account, one.ledger, one.coin],
    ]),
  );
  return [...alike.values()].flatMap((those) => {
    const accounts = new Set(those.map(({ account }) => account)).size;
    const byTime = Map.groupBy(those, ({ account, since, until }) =>
      JSON.stringify(until === undefined ? account : [account, hourOf(since), hourOf(until)]),
    );
    const groups = accounts > accountsNamedMax ? [those] : [...byTime.values()];
    return groups.flatMap(([first, ...others]) =>
      first === undefined ? [] : headLine([first, ...others], now),
    );
  });
}

function headLine(those: readonly [Finding, ...Finding[]], now: EpochMs): HeadLine {
  const [first] = those;
  const numbers = <Value>(pick: (finding: Finding) => Value | undefined) =>
    those.flatMap((one) => pick(one) ?? []);
  const [sinces, untils] = [numbers(({ since }) => since), numbers(({ until }) => until)];
  const group = {
    ...first,
    count: those.reduce((sum, { count }) => sum + count, 0),
    since: sinces.length < those.length ? undefined : epochMs(Math.min(...sinces)),
    until: untils.length < those.length ? undefined : epochMs(Math.max(...untils)),
    breakIds: those.flatMap(({ breakIds }) => breakIds).slice(0, breaksNamedMax),
    isPlural: those.some(
      ({ account, ledger }) => account !== first.account || ledger !== first.ledger,
    ),
    unreadMs: Math.max(...those.map(({ unreadMs }) => unreadMs ?? 0)),
    isSeveral: those.some(
      ({ since, until, unreadMs }) =>
        hourOf(since) !== hourOf(first.since) ||
        hourOf(until) !== hourOf(first.until) ||
        Number(unreadMs ?? Number.NaN) < Number(until) - Number(since),
    ),
  };
  return {
    severity: severityOf(first),
    text: sentenceOf(group, now, subjectOfAll(those)),
    remedy: remedyOf(group),
    count: those.length,
  };
}

/** A line names the number of more ledgers than this. */
const ledgersNamedMax = 3;

/**
 * `main/USDT-FUTURES/USDT` of one, `main/USDT-FUTURES, COIN-FUTURES` of few ledgers, `main (14 ledgers)` of several,
 * `12 accounts (168 ledgers)` of many accounts.
 */
function subjectOfAll(those: readonly [Finding, ...Finding[]]): string {
  const [first] = those;
  if (those.length === 1) return subjectOf(first);
  const accounts = new Set(those.map(({ account }) => account));
  const ledgers = new Set(those.map(({ account, ledger }) => JSON.stringify([account, ledger])));
  if (accounts.size === 1 && ledgers.size <= ledgersNamedMax) {
    const names = [...new Set(those.map(({ ledger }) => ledger))];
    return subjectOf({ ...first, ledger: names.join(", "), coin: "" });
  }
  const who =
    accounts.size === 1 ? printableLine(first.account) : formatCounted(accounts.size, "account");
  return `${who} (${formatCounted(ledgers.size, "ledger")})`;
}

const commandsMax = 3;

/** The verdict in a sentence, which names what was accepted. */
export function verdictOf(findings: readonly Finding[], accepted?: Accepted): Verdict {
  const sorted = findings.toSorted((a, b) => kindNames.indexOf(a.kind) - kindNames.indexOf(b.kind));
  const [worst] = sorted;
  const next = [...new Set(sorted.map(remedyOf))].filter((command) => command !== "");
  return {
    kind: worst?.kind,
    severity: worst === undefined ? "good" : findingKinds[worst.kind].severity,
    title: worst === undefined ? goodTitle(accepted) : findingKinds[worst.kind].title,
    next: next.slice(0, commandsMax),
  };
}

const goodTitle = (accepted?: Accepted): string => {
  const parts = acceptedParts(accepted);
  return parts.length === 0 ? "Complete, and it adds up" : `Complete, with ${parts.join(" and ")}`;
};

/** The finding of a database without tables. */
export const neverSynced: Finding = {
  ...{
    kind: "never-synced",
    account: "",
    ledger: "",
    coin: "",
    since: undefined,
    until: undefined,
  },
  ...{ count: 1, detail: "", difference: null, breakIds: [], isRepairable: false },
};
