import type { Difference, LedgerVerification } from "../check/verify/verify.ts";
import type { BillCount } from "../core/store/bill-counts.ts";
import type { Interval } from "../core/words/intervals.ts";
import { messageOf } from "../lib/errors.ts";
import type { EpochMs } from "../lib/time.ts";
import {
  formatCount,
  formatCounted,
  formatInterval,
  formatTime,
  jsonInterval,
  ledgerName,
  ledgerNames,
} from "../output/output-format.ts";
import {
  type Column,
  type Columns,
  errorColumn,
  fields,
  ledgerColumns,
  type Result,
  type Table,
  table,
} from "../output/result.ts";
import type { RunExit, RunFacts } from "./exit-code.ts";

export type AccountVerification = {
  readonly account: string;
  readonly ledgers: readonly LedgerVerification[];
  /** The ledgers whose stored number of bills was wrong. */
  readonly recounted: readonly BillCount[];
  /** The error that ended the whole account. */
  readonly error: unknown;
};

export type Verification = RunFacts & {
  /** The requested span. */
  readonly span: Interval;
  readonly accounts: readonly AccountVerification[];
};

export const differenceKinds = ["missing", "changed", "unserved", "rejected"] as const;

const isRepaired = (difference: Difference): boolean =>
  "isRepaired" in difference && difference.isRepaired;

const isAccepted = (difference: Difference): boolean =>
  difference.kind === "rejected" && difference.isAccepted;

type Reports = Pick<Verification, "accounts">;

const ledgersOf = ({ accounts }: Reports): readonly LedgerVerification[] =>
  accounts.flatMap(({ ledgers }) => ledgers);

const differencesOf = (verification: Reports): readonly Difference[] =>
  ledgersOf(verification).flatMap(({ differences }) => differences);

/** How many differences are left. */
const remainingOf = (verification: Reports): number =>
  differencesOf(verification).filter(
    (difference) => !isRepaired(difference) && !isAccepted(difference),
  ).length;

/** How many bills were written. */
export const repairedOf = (verification: Reports): number =>
  differencesOf(verification).filter(isRepaired).length;

export function verificationOf(
  span: Interval,
  accounts: readonly AccountVerification[],
): Verification {
  const ledgers = ledgersOf({ accounts });
  return {
    ...{ span, accounts, isIncomplete: remainingOf({ accounts }) > 0 },
    errors: [...accounts, ...ledgers].flatMap(({ error }) => error ?? []),
    didWork: ledgers.some(({ compared, error }) => compared > 0 || error === undefined),
  };
}

/** How many differences a person is shown. */
const shownMax = 100;

/** What was compared, each difference, and whether all is equal. */
export function resultOfVerification(verification: Verification & RunExit): Result {
  const { accounts, span } = verification;
  const all = differencesOf(verification);
  const differences = differenceKinds.flatMap((kind) => all.filter((one) => one.kind === kind));
  const more = differences.length - shownMax;
  return {
    data: {
      ...jsonInterval(span),
      wasCut: cutAt(verification) !== undefined,
      remaining: remainingOf(verification),
    },
    parts: [
      table("accounts", accountColumns, accounts, []),
      ledgersTable(verification),
      table("differences", differenceColumns, differences, differences.slice(0, shownMax)),
      ...(more > 0 ? [`and ${formatCounted(more, "difference")} more; --json lists all`] : []),
      ...accounts.flatMap(({ recounted }) => recounted.map(recountText)),
      ...remarksOf(verification),
      lastLine(verification),
    ],
    exit: verification.exitCode,
  };
}

export function ledgersTable(verification: Verification): Table {
  const ledgers = ledgersOf(verification);
  const countOf = (isCounted: (difference: Difference) => boolean): Column<LedgerVerification> => ({
    kind: "count",
    of: ({ differences }) => differences.filter(isCounted).length,
  });
  const counts = differenceKinds.map((kind) => [
    kind,
    countOf((difference) => difference.kind === kind),
  ]);
  const columns: Columns<LedgerVerification> = {
    ...ledgerColumns(ledgers, ({ ledger }) => ledger),
    read: { kind: "spans", title: "", of: ({ span }) => span },
    ...fields<LedgerVerification>("count", ["compared"]),
    ...fields<LedgerVerification>("value", ["requests"]),
    ...Object.fromEntries(counts),
    repaired: countOf(isRepaired),
    error: errorColumn,
  };
  return table("ledgers", columns, ledgers);
}

const accountColumns: Columns<AccountVerification> = {
  ...fields<AccountVerification>("value", ["account", "recounted"]),
  error: errorColumn,
};

export const recountText = ({ keptCount, rowCount, ...ledger }: BillCount): string =>
  `${ledgerName(ledger)}: status showed ${formatCount(keptCount)} bills; ${formatCount(rowCount)} ` +
  "are stored, and status shows these from now on";

const differenceColumns: Columns<Difference> = {
  account: { kind: "text", title: "", of: ({ ledger }) => ledger.account },
  productType: { kind: "text", title: "", of: ({ ledger }) => ledger.productType },
  ledger: { kind: "text", isForPeople: true, of: ({ ledger }) => ledgerName(ledger) },
  kind: { kind: "text", title: "differs", of: ({ kind }) => kind },
  billId: { kind: "text", title: "bill", of: ({ billId }) => billId },
  cTime: { kind: "time", title: "time", of: (row) => ("cTime" in row ? row.cTime : null) },
  cTimeMs: { kind: "value", of: (row) => ("cTime" in row ? row.cTime : null) },
  what: { kind: "text", isForPeople: true, of: whatOf },
  fields: { kind: "value", of: (row) => ("fields" in row ? row.fields : null) },
  path: { kind: "value", of: (row) => ("fault" in row ? row.fault.path : null) },
  reason: { kind: "value", of: (row) => ("fault" in row ? row.fault.reason : null) },
  isRepaired: { kind: "value", of: (row) => ("isRepaired" in row ? row.isRepaired : null) },
  isAccepted: { kind: "value", of: (row) => ("isAccepted" in row ? row.isAccepted : null) },
};

function whatOf(difference: Difference): string {
  switch (difference.kind) {
    case "missing":
      return difference.isRepaired ? "repaired" : "";
    case "changed": {
      const fields = difference.fields.map(
        ({ field, stored, served }) => `${field} ${stored ?? "null"} → ${served ?? "null"}`,
      );
      return `${fields.join(", ")}${difference.isRepaired ? ", repaired" : ""}`;
    }
    case "unserved":
      return "the exchange does not serve it in this span";
    case "rejected": {
      const { fault, isAccepted } = difference;
      return `${fault.path} ${fault.reason}${isAccepted ? " (accepted)" : ""}`.trim();
    }
    default:
      return difference satisfies never;
  }
}

/** What a repair leaves: it deletes nothing, and no row that breaks the contract can be stored. */
export const leftLines = (verification: Verification): readonly string[] =>
  (["unserved", "rejected"] as const).flatMap((kind) => {
    const bills = differencesOf(verification).filter(
      (difference) => difference.kind === kind && !isAccepted(difference),
    );
    const ids = bills.slice(0, 3).map(({ billId }) => billId ?? "without an id");
    const names = `${ids.join(", ")}${bills.length > ids.length ? ", …" : ""}`;
    if (bills.length === 0) return [];
    return kind === "unserved"
      ? `${formatCounted(bills.length, "stored bill")} (${names}) not served by the exchange, and not deleted`
      : `${formatCounted(bills.length, "served row")} (${names}) cannot be read`;
  });

/** What could not be read, and why. */
export const remarksOf = ({ accounts }: Verification): readonly string[] =>
  accounts.flatMap(({ account, error, ledgers }) => [
    ...(error === undefined ? [] : [`${account}: ${messageOf(error)}`]),
    ...unreadLines(ledgers),
  ]);

/** Each error once, with all product types that were not read to their end. */
function unreadLines(ledgers: readonly LedgerVerification[]): readonly string[] {
  const unread = ledgers.filter(({ error }) => error !== undefined);
  return [...Map.groupBy(unread, ({ error }) => messageOf(error))].map(
    ([message, alike]) =>
      `${ledgerNames(alike.map(({ ledger }) => ledger))}: not read to its end: ${message}`,
  );
}

/** The start of the part that could be read, if that is not the whole span. */
function cutAt({ span, accounts }: Verification): EpochMs | undefined {
  const starts = accounts.flatMap(({ ledgers }) => ledgers.flatMap((one) => one.span[0] ?? []));
  const servedFrom = starts.map(({ from }) => from).sort((a, b) => b - a)[0];
  return servedFrom === undefined || servedFrom <= span.from ? undefined : servedFrom;
}

function lastLine(verification: Verification): string {
  const { span } = verification;
  const repaired = repairedOf(verification);
  const remaining = remainingOf(verification);
  const servedFrom = cutAt(verification);
  const cut =
    servedFrom === undefined
      ? ""
      : ` (from ${formatTime(servedFrom)} on; the exchange no longer has what is older)`;
  const differences =
    remaining === 0
      ? repaired === 0
        ? "equal"
        : `equal, after ${formatCounted(repaired, "bill")} ${repaired === 1 ? "was" : "were"} repaired`
      : `NOT equal: ${formatCounted(remaining, "difference")} ${remaining === 1 ? "remains" : "remain"}`;
  const unread = verification.errors.length > 0 ? "NOT everything was read; what was read is " : "";
  const end = verification.didWork ? `${unread}${differences}` : "nothing was compared";
  const next = repaired === 0 ? "" : "; bill-sync reconcile says whether the ledger adds up now";
  return `${formatInterval(span)}${cut}: ${end}${next}`;
}
