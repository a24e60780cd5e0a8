import { printableLine, shellWord } from "../../lib/printable.ts";
import { type EpochMs, retentionMs } from "../../lib/time.ts";
import { formatCounted, formatDuration, formatMinute } from "../../output/text.ts";
import { breakKinds, discrepancyText } from "../reconcile/breaks.ts";

/** One thing that is wrong with what is stored, or not known to be right. Breaks, which `check/reconcile` judges, are some. */
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
  /** How many breaks, rows, bills or spans of time. */
  readonly count: number;
  /** Of unread time: how much, without what is stored of windows that were begun. */
  readonly unreadMs?: number | null;
  /** More about it, by kind: the breaks' kinds, a business type, a ratio. */
  readonly detail: string;
  /** Of one break, by how much it is off, as a decimal; of several, the sum of balances, without signs. */
  readonly difference: string | null;
  /** The first ten numbers of breaks. */
  readonly breakIds: readonly number[];
  /** Whether the exchange still serves bills of the breaks, so that they can be read again. */
  readonly isRepairable: boolean;
  /** What no sync reads any more. "another account": never read, and maybe the new name of a stored account. */
  readonly unconfigured?: "account" | "product type" | "another account" | undefined;
};

/** A finding, or several on one line, perhaps of several ledgers: from the first's start to the last's end. */
type FindingGroup = Finding & {
  readonly isSeveral?: boolean;
  readonly isPlural?: boolean;
};

export type Severity = "critical" | "warning" | "notice";

type KindOf = {
  readonly severity: Severity;
  /** The finding in words, for the documentation. */
  readonly meaning: string;
  /** The headline where nothing worse is found. */
  readonly title: string;
  /** The sentence after the ledger's name; {has|have} is the verb of one ledger, and of several. */
  readonly what: (finding: FindingGroup, now: EpochMs) => string;
  /** The command that helps, where one does. */
  readonly remedy?: (finding: Finding) => string;
  /** Whether bills may be missing: what serve refuses, and what exports and reports name. */
  readonly isHole?: true;
  /** Whether it says nothing of stored bills. */
  readonly isOfAccount?: true;
};

/** More numbers are not typed at a look: after these, the next ones are named. */
export const breaksNamedMax = 10;

const readingRemedy = ({ account, ledger, unconfigured }: Finding): string => {
  if (unconfigured === undefined) return "bill-sync sync";
  const ofProduct = unconfigured === "account" ? "" : ` --product ${shellWord(ledger)}`;
  return `bill-sync accounts retire ${shellWord(account)}${ofProduct}`;
};
const accept = ({ breakIds }: Finding, check = "bill-sync reconcile"): string =>
  breakIds.length === 0 ? check : `bill-sync breaks accept ${breakIds.join(",")} --note "…"`;
const repair = "bill-sync reconcile --repair";
const doctor = () => "bill-sync doctor";
const outside = ({ unconfigured }: FindingGroup): string =>
  unconfigured === undefined ? "" : ", and not in the configuration";
const notRead =
  ", and not in the configuration, which has others of the unified account's wallet; name all in PRODUCT_TYPES, or none";
const ofTime = ({ since, until, isSeveral, isPlural, unreadMs }: FindingGroup): string =>
  `${isSeveral ? "at times from" : "from"} ${formatMinute(since)} to ${formatMinute(until)}` +
  (isSeveral && unreadMs ? `, ${isPlural ? "up to " : ""}${formatDuration(unreadMs)} in all` : "");
/** What a balance differs by, in words; empty where nothing says. */
const offBy = ({ count, detail, difference, coin }: FindingGroup): string => {
  if (difference === null) return "";
  if (count > 1) return `${difference} ${printableLine(coin)} in all`;
  return discrepancyText({ kind: detail, difference, unit: printableLine(coin) }) ?? "";
};
const age = ({ since, isSeveral = false }: FindingGroup, now: EpochMs): string =>
  `${isSeveral ? "up to " : ""}${formatDuration(now - (since ?? 0))}`;

/** Every verdict there is, worst first. A new one is a line here, and a select beside findings.ts. */
export const findingKinds = {
  broken: {
    severity: "critical",
    meaning:
      "a place where the ledger does not add up, which nobody accepted: reconcile found it, or a balance does not follow that did",
    title: "It does not add up",
    what: (group) => {
      const { count, detail, since } = group;
      const more = [detail, offBy(group)].filter(Boolean).join(", ");
      // One that reconcile found is told as breaks list tells it.
      const isOne = count === 1 && Object.hasOwn(breakKinds, detail) && offBy(group) !== "";
      const what = isOne ? offBy(group) : `${formatCounted(count, "break")} (${more})`;
      return `{does|do} not add up: ${what}${since === undefined ? "" : ` since ${formatMinute(since)}`}`;
    },
    remedy: (finding) =>
      finding.isRepairable ? repair : accept(finding, "bill-sync reconcile --full --repair"),
  },
  lost: {
    severity: "critical",
    meaning:
      "time not read before the exchange deleted its bills, if any, or the account changed its mode, which nobody accepted",
    title: "Some history is lost",
    what: (finding) =>
      `{was|were} not read ${ofTime(finding)}, and the exchange serves no bills of it any more`,
    remedy: accept,
    isHole: true,
  },
  expiring: {
    severity: "critical",
    meaning: "the exchange deletes unread bills within 7 days",
    title: "Unread bills are about to be lost",
    what: (group, now) => {
      const leftMs = (group.since ?? 0) + retentionMs - now;
      const loses =
        leftMs <= 0
          ? "{is|are} losing unread bills now"
          : `{loses|lose} unread bills in ${formatDuration(leftMs)}`;
      return `${loses}${outside(group)}`;
    },
    remedy: readingRemedy,
    isOfAccount: true,
  },
  "ltv-high": {
    severity: "critical",
    meaning: "a loan to value is above `HEALTH_MAX_LTV`",
    title: "Loan to value is too high",
    what: ({ detail }) => `loan to value is ${detail}`,
    isOfAccount: true,
  },
  "never-synced": {
    severity: "critical",
    meaning: "no sync has run",
    title: "Nothing was ever read",
    what: () => "no sync has run",
    remedy: readingRemedy,
    isOfAccount: true,
  },
  "cannot-sync": {
    severity: "critical",
    meaning:
      "the account's last sync failed as another one would: the exchange refused the key, or a setting is wrong",
    title: "An account could not be synced",
    what: ({ detail }) => `could not be synced: ${printableLine(detail)}`,
    remedy: doctor,
    isOfAccount: true,
  },
  unread: {
    severity: "warning",
    meaning: "time older than `HEALTH_MAX_AGE` that a run had planned to read, and did not",
    title: "Not complete",
    what: (finding) => `{was|were} not read ${ofTime(finding)}${outside(finding)}`,
    remedy: readingRemedy,
    isHole: true,
  },
  "never-read": {
    severity: "warning",
    meaning:
      "a configured ledger, or one that shares a wallet with it, that no run has begun to read",
    title: "Not complete",
    what: ({ unconfigured }) =>
      `{was|were} never read${unconfigured === "product type" ? notRead : ""}`,
    remedy(finding) {
      if (finding.unconfigured === "product type") return "";
      // It says whether the key's account is stored under another name, where a sync would be refused.
      return finding.unconfigured === undefined ? readingRemedy(finding) : doctor();
    },
    isHole: true,
  },
  behind: {
    severity: "warning",
    meaning: "nothing was read for longer than `HEALTH_MAX_AGE`",
    title: "Out of date",
    what: (group, now) => `{was|were} last read ${age(group, now)} ago${outside(group)}`,
    remedy: readingRemedy,
    isHole: true,
  },
  rejected: {
    severity: "warning",
    meaning: "rows not as the API documents them, until one that is comes, or they are accepted",
    title: "Some rows were rejected",
    what: ({ count }) => `rejected ${formatCounted(count, "row")}`,
    remedy: () => "bill-sync breaks list",
    isHole: true,
  },
  "partly-recovered": {
    severity: "warning",
    meaning:
      "a millisecond has more tax records than an answer holds; a later day in `RECOVER_FROM` leaves it out",
    title: "Not complete",
    what: (finding) =>
      `may miss bills ${ofTime(finding)}, of which tax records show only a part; a later day in RECOVER_FROM leaves them out`,
    isHole: true,
  },
  unclassified: {
    severity: "warning",
    meaning: "bills of a type without a category moved money; until then they count as a result",
    title: "Some bills have no category",
    what: ({ count, detail }) =>
      `{has|have} ${formatCounted(count, "bill")} of type ${printableLine(detail)}, without a category`,
    remedy: ({ detail }) => `bill-sync types set ${shellWord(detail)} CATEGORY`,
  },
  "ltv-behind": {
    severity: "warning",
    meaning: "a loan to value was not read for longer than `HEALTH_MAX_AGE`",
    title: "Out of date",
    what: (finding, now) => `loan to value was last read ${age(finding, now)} ago`,
    remedy: readingRemedy,
    isOfAccount: true,
  },
  "cut-short": {
    severity: "notice",
    meaning:
      "the last sync was stopped or killed, or something of it failed; if no later one runs, the finding `behind` comes",
    title: "The last sync did not finish",
    what: ({ detail, since }) =>
      `the last sync, of ${formatMinute(since)}, did not finish: ${printableLine(detail)}`,
    remedy: readingRemedy,
    isOfAccount: true,
  },
  recovered: {
    severity: "notice",
    meaning: "bills are from tax records: in reports and exports; `status` has it in its title",
    title: "Recovered from tax records",
    what: (finding) => `{was|were} recovered from tax records ${ofTime(finding)}`,
  },
  restated: {
    severity: "notice",
    meaning: "the exchange served other content than was stored, which replaced it",
    title: "Some bills were replaced",
    what: ({ since }) =>
      `{has|have} bills that were replaced, first at ${formatMinute(since)}: the exchange served other content than was stored`,
    remedy: accept,
  },
  unexplained: {
    severity: "notice",
    meaning:
      "balances do not follow where it is not known what a bill moves: of a type that no rule fits, or a withdrawal " +
      "whose fee the key may not read; or the exchange's balance of a wallet differs, in union asset mode, in a unified " +
      "account or while coins are frozen, where both may be right",
    title: "Some balances are not explained",
    what: (finding) =>
      finding.difference === null
        ? `{has|have} ${formatCounted(finding.count, "balance")} ${printableLine(finding.detail)}`
        : `{does|do} not match the exchange's balance of ${formatMinute(finding.since)}: ${offBy(finding)}`,
  },
  unchecked: {
    severity: "notice",
    meaning: "no reconcile has seen the newest bills",
    title: "Complete, not yet reconciled",
    what: ({ since }) =>
      since === undefined
        ? "{was|were} never reconciled"
        : `{was|were} not reconciled since ${formatMinute(since)}`,
    remedy: () => "bill-sync reconcile",
  },
} as const satisfies Readonly<Record<string, KindOf>>;

export type Kind = keyof typeof findingKinds;
type OfKind = Pick<Finding, "kind">;

/** The kinds of findings beside which bills may be missing. */
export type HoleKind = {
  [kind in Kind]: (typeof findingKinds)[kind] extends { readonly isHole: true } ? kind : never;
}[Kind];

/** Worst first. */
export const kindNames = Object.keys(findingKinds) as readonly Kind[];

export const severityOf = ({ kind }: OfKind): Severity => findingKinds[kind].severity;

/** Whether a check fails, and an alert fires. */
export const alarms = (finding: OfKind): boolean => severityOf(finding) !== "notice";

/** A finding's subject: `main/USDT-FUTURES/USDT`. Empty for the whole database. */
export const subjectOf = ({ account, ledger, coin }: Finding): string =>
  printableLine([account, ledger, coin].filter((part) => part !== "").join("/"));

/** A finding in a line, without its remedy. */
export function sentenceOf(
  finding: FindingGroup,
  now: EpochMs,
  subject = subjectOf(finding),
): string {
  const sentence = kindOf(finding).what(finding, now);
  const what = sentence.replaceAll(/\{(\w+)\|(\w+)\}/g, finding.isPlural ? "$2" : "$1");
  return [subject, what].filter((part) => part !== "").join(" ");
}

export const remedyOf = (finding: Finding): string => kindOf(finding).remedy?.(finding) ?? "";

export const isHole = (finding: OfKind): boolean => kindOf(finding).isHole ?? false;

/** Whether a finding is of stored bills, and not of an account as it is now. */
export const isOfBills = (finding: OfKind): boolean => kindOf(finding).isOfAccount !== true;

const kindOf = ({ kind }: OfKind): KindOf => findingKinds[kind];
