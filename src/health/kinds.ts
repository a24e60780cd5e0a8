import { type EpochMs, historyMs } from "../contract/time.ts";
import { printableLine, shellWord } from "../printable.ts";
import { formatCounted, formatDuration, formatMinute } from "../terminal/format.ts";

/** One thing that is wrong with what is stored, or not known to be right. Nothing else judges a ledger. */
export type Finding = {
  readonly kind: Kind;
  /** Empty where it concerns the whole database. */
  readonly account: string;
  /** A product type, a wallet, or a risk unit; empty where it concerns the whole account. */
  readonly ledger: string;
  /** Empty where it concerns no coin. */
  readonly coin: string;
  /** By the exchange's clock: when unread time begins, when a break happened, when something was read last. */
  readonly since: EpochMs | undefined;
  readonly until: EpochMs | undefined;
  /** How many breaks, rows or bills; 1 for a span of time. */
  readonly count: number;
  /** What the kind says more: the breaks' kinds, a business type, a ratio. */
  readonly detail: string;
  /** Of breaks, the first ten numbers. */
  readonly breakIds: readonly number[];
  /** Whether the exchange still serves bills of the breaks, so that they can be read again. */
  readonly isRepairable: boolean;
  /** Demo trading is no money: its findings are shown, and alarm nobody. */
  readonly isDemo: boolean;
  readonly isPaused: boolean;
};

export type Severity = "critical" | "warning" | "notice";

type KindOf = {
  readonly severity: Severity;
  /** The headline where nothing worse is found. */
  readonly title: string;
  /** What is so, with the ledger's name before it. */
  readonly what: (finding: Finding, now: EpochMs) => string;
  /** The command that closes it; empty where none does. */
  readonly remedy: (finding: Finding) => string;
  /** Whether bills may be missing: what serve refuses, and what exports and reports name. */
  readonly isHole?: true;
  /** Whether it says nothing of stored bills. */
  readonly isOfAccount?: true;
};

const sync = ({ isPaused, account }: Finding): string =>
  isPaused ? `npm run accounts -- resume ${shellWord(account)}` : "npm run sync";
const accept = ({ breakIds }: Finding): string =>
  breakIds.length === 0
    ? "npm run reconcile"
    : `npm run breaks -- accept ${breakIds.join(",")} --note "why"`;
const none = () => "";
const ofTime = ({ since, until }: Finding): string =>
  `${formatMinute(since)} to ${formatMinute(until)}`;
const age = (since: EpochMs | undefined, now: EpochMs): string =>
  formatDuration(now - (since ?? 0));

/** Every verdict there is, worst first. A new one is a line here and a select in findings.ts. */
export const kinds = {
  broken: {
    severity: "critical",
    title: "It does not add up",
    what: ({ count, detail, since }) =>
      `does not add up: ${formatCounted(count, "break")} (${detail})` +
      (since === undefined ? "" : ` since ${formatMinute(since)}`),
    remedy: (finding) => (finding.isRepairable ? "npm run reconcile -- --repair" : accept(finding)),
  },
  lost: {
    severity: "critical",
    title: "Some history is lost",
    what: (finding) => `lost ${ofTime(finding)}`,
    remedy: accept,
    isHole: true,
  },
  expiring: {
    severity: "critical",
    title: "Unread bills are about to be lost",
    what: ({ since }, now) => {
      const leftMs = (since ?? 0) + historyMs - now;
      return leftMs <= 0
        ? "is losing unread bills now"
        : `loses unread bills in ${formatDuration(leftMs)}`;
    },
    remedy: sync,
    isOfAccount: true,
  },
  "ltv-high": {
    severity: "critical",
    title: "Loan to value is too high",
    what: ({ detail }) => `loan to value is ${detail}`,
    remedy: none,
    isOfAccount: true,
  },
  "never-synced": {
    severity: "critical",
    title: "Nothing was ever read",
    what: () => "no sync has run",
    remedy: sync,
    isOfAccount: true,
  },
  unreachable: {
    severity: "critical",
    title: "Some accounts cannot be read",
    what: () => "its rows cannot be read",
    remedy: () => "npm run doctor",
    isOfAccount: true,
  },
  unread: {
    severity: "warning",
    title: "Not complete",
    what: (finding) => `not read ${ofTime(finding)}`,
    remedy: sync,
    isHole: true,
  },
  "never-read": {
    severity: "warning",
    title: "Not complete",
    what: () => "was never read",
    remedy: sync,
    isHole: true,
  },
  unreadable: {
    severity: "warning",
    title: "Not complete",
    what: (finding) => `not read ${ofTime(finding)}, before the account changed its kind`,
    remedy: accept,
    isHole: true,
  },
  behind: {
    severity: "warning",
    title: "Out of date",
    what: ({ since }, now) => `is ${age(since, now)} behind`,
    remedy: sync,
    isHole: true,
  },
  rejected: {
    severity: "warning",
    title: "Some rows could not be read",
    what: ({ count }) => `rejected ${formatCounted(count, "row")}`,
    remedy: () => "npm run breaks -- list",
    isHole: true,
  },
  unclassified: {
    severity: "warning",
    title: "Some bills have no category",
    what: ({ count, detail }) =>
      `${formatCounted(count, "bill")} of type ${printableLine(detail)} moved money`,
    remedy: ({ detail }) => `npm run types -- set ${shellWord(detail)} CATEGORY`,
  },
  "ltv-behind": {
    severity: "warning",
    title: "Out of date",
    what: ({ since }, now) => `loan to value is ${age(since, now)} behind`,
    remedy: sync,
    isOfAccount: true,
  },
  restated: {
    severity: "notice",
    title: "Stored bills were changed",
    what: ({ since }) => `bills were changed since ${formatMinute(since)}`,
    remedy: accept,
  },
  unchecked: {
    severity: "notice",
    title: "Complete, not yet reconciled",
    what: ({ since }) =>
      since === undefined ? "was never reconciled" : `not reconciled since ${formatMinute(since)}`,
    remedy: () => "npm run reconcile",
  },
} as const satisfies Readonly<Record<string, KindOf>>;

export type Kind = keyof typeof kinds;

/** Worst first. */
export const kindNames = Object.keys(kinds) as readonly Kind[];
export const severities: readonly Severity[] = ["critical", "warning", "notice"];

/** The severity of a finding; demo trading alarms nobody. */
export const severityOf = ({ kind, isDemo }: Pick<Finding, "kind" | "isDemo">): Severity =>
  isDemo ? "notice" : kinds[kind].severity;

/** Whether a check fails, and an alert fires. */
export const alarms = (finding: Pick<Finding, "kind" | "isDemo">): boolean =>
  severityOf(finding) !== "notice";

/** What a finding is of: `main/USDT-FUTURES/USDT`. Empty for the whole database. */
export const subjectOf = ({ account, ledger, coin }: Finding): string =>
  printableLine([account, ledger, coin].filter((part) => part !== "").join("/"));

/** A finding in a line, without its remedy. */
export function sentenceOf(finding: Finding, now: EpochMs): string {
  const what: string = kindOf(finding).what(finding, now);
  return [subjectOf(finding), what].filter((part) => part !== "").join(" ");
}

export const remedyOf = (finding: Finding): string => kindOf(finding).remedy(finding);

export const isHole = ({ kind }: Pick<Finding, "kind">): boolean =>
  kindOf({ kind }).isHole ?? false;

/** Whether a finding is of stored bills, and not of an account as it is now. */
export const isOfBills = ({ kind }: Pick<Finding, "kind">): boolean =>
  !(kindOf({ kind }).isOfAccount ?? false);

const kindOf = ({ kind }: Pick<Finding, "kind">): KindOf => kinds[kind];
