import type { Config } from "../accounts/config.ts";
import { accountsToRead, type Selection } from "../accounts/roster.ts";
import {
  type Difference,
  isRepaired,
  type LedgerVerification,
  repairedIn,
  verifyBills,
} from "../check/verify/verify.ts";
import { readSideBySide } from "../core/exchange/address-limits.ts";
import { openExchangeAccess } from "../core/exchange/session.ts";
import type { Database } from "../core/postgres/connect.ts";
import { readExchangeTime } from "../core/store/known-time.ts";
import { Leases } from "../core/store/lease.ts";
import { migrate } from "../core/store/migrate.ts";
import type { Interval } from "../core/words/intervals.ts";
import { horizonAt } from "../core/words/plan.ts";
import { UsageError } from "../lib/errors.ts";
import { type EpochMs, isoTime } from "../lib/time.ts";
import {
  type Column,
  type Columns,
  errorColumn,
  fields,
  ledgerColumn,
  ledgerColumns,
  type Result,
  type Table,
  table,
} from "../output/result.ts";
import { formatCounted, formatInterval, formatTime, jsonInterval } from "../output/text.ts";
import {
  type AccountVerification,
  compareAccount,
  differencesOf,
  isAccepted,
  ledgersOf,
  type Reports,
  remarksOf,
} from "./compare-account.ts";
import type { RunExit, RunFacts } from "./exit-code.ts";
import { note } from "./io.ts";
import { loggedRun } from "./logged-run.ts";
import type { CommandDatabase } from "./open.ts";
import {
  type Define,
  type LedgerFlags,
  type Program,
  reporting,
  selectedConfig,
} from "./options.ts";
import { periodOf } from "./period.ts";
import { openWritable } from "./stored.ts";

type VerifyFlags = LedgerFlags & {
  readonly from: string;
  readonly to: string;
  readonly repair: boolean;
};

/**
 * `verify`: reads a span from the exchange again and compares it with what is stored. It holds the
 * account as a sync does, so that neither runs beside the other. With `repair` it writes what differs.
 */
async function verifyCommand(program: Program, words: VerifyFlags): Promise<Result> {
  const { io } = program;
  const { config, selection } = selectedConfig(program, true, words);
  const span = readSpan(words);
  await using database = await openWritable(config, io);
  const notice = (message: string) => note(io, message);
  const deps = { notice, signal: io.signal, span, selection, repair: words.repair };
  return resultOfVerification(await runVerification(config, database, deps));
}

type SpanDeps = {
  readonly signal: AbortSignal;
  readonly notice: (message: string) => void;
  readonly span: Interval;
  readonly selection: Selection;
  readonly repair: boolean;
};

/** A whole verification. */
export async function runVerification(
  config: Config,
  { db }: Pick<CommandDatabase, "db">,
  deps: SpanDeps,
): Promise<Verification & RunExit> {
  await migrate(db);
  return loggedRun({ db, notice: deps.notice }, "verify", async () => {
    const verification = await compareAccounts(config, db, deps);
    return { ...verification, counts: { ledgers: ledgersTable(verification).json } };
  });
}

/** @throws UsageError if a text is no time, or the span is empty. */
export function readSpan({ from: start, to: end }: Pick<VerifyFlags, "from" | "to">): Interval {
  const { from, to } = periodOf({ from: start, to: end }, "UTC");
  if (from === undefined || to === undefined) throw new UsageError("--from and --to are needed");
  return { from, to };
}

/** Reads a span of the configured accounts again, and compares it with what is stored. */
async function compareAccounts(
  config: Config,
  db: Database,
  deps: SpanDeps,
): Promise<Verification> {
  const { span, selection, repair } = deps;
  const { selected } = await accountsToRead(db, config, selection);
  const names = selected.map(({ name }) => name);
  if (names.length > 0) refuseUnserved(span, await readExchangeTime(db, names));
  await using access = openExchangeAccess();
  const accountDeps = { ...deps, db, leases: new Leases(db), config, access };
  const read = await readSideBySide(selected, (account) =>
    compareAccount(accountDeps, account, {
      ...{ repair, spanOf: () => span },
      read: (comparing, ledgers) => verifyBills(comparing, ledgers, span),
    }),
  );
  return verificationOf(span, read);
}

/**
 * @param now the exchange's time.
 * @throws UsageError for a span that ends in the future, or before the 90 days that the exchange serves.
 */
function refuseUnserved({ to }: Interval, now: EpochMs): void {
  const horizon = horizonAt(now);
  if (to > now)
    throw new UsageError(
      `--to ${isoTime(to)} lies in the future; give a time up to now, ${isoTime(now)}`,
    );
  if (to <= horizon)
    throw new UsageError(
      `--to ${isoTime(to)} is more than 90 days ago: the exchange serves nothing before ${isoTime(horizon)}`,
    );
}

export type Verification = RunFacts & {
  /** The requested span. */
  readonly span: Interval;
  readonly accounts: readonly AccountVerification[];
};

export const differenceKinds = ["missing", "changed", "unserved", "rejected"] as const;

/** How many differences are left. */
const remainingOf = (verification: Reports): number =>
  differencesOf(verification).filter(
    (difference) => !isRepaired(difference) && !isAccepted(difference),
  ).length;

function verificationOf(span: Interval, accounts: readonly AccountVerification[]): Verification {
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
function resultOfVerification(verification: Verification & RunExit): Result {
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
      more > 0 && `and ${formatCounted(more, "difference")} more; --json lists all`,
      ...remarksOf(verification),
      lastLine(verification),
    ],
    exit: verification.exitCode,
  };
}

function ledgersTable(verification: Verification): Table {
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
  ...fields<AccountVerification>("value", ["account"]),
  error: errorColumn,
};

const differenceColumns: Columns<Difference> = {
  ...ledgerColumn(({ ledger }) => ledger),
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

/** The start of the part that could be read, if that is not the whole span. */
function cutAt({ span, accounts }: Verification): EpochMs | undefined {
  const starts = accounts.flatMap(({ ledgers }) => ledgers.flatMap((one) => one.span[0] ?? []));
  const servedFrom = starts.map(({ from }) => from).sort((a, b) => b - a)[0];
  return servedFrom === undefined || servedFrom <= span.from ? undefined : servedFrom;
}

function lastLine(verification: Verification): string {
  const { span } = verification;
  const repaired = repairedIn(ledgersOf(verification));
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

const help = `
Each served bill is compared field by field with the stored one: missing,
changed, unserved (stored and not served) or rejected. --repair writes what
differs and deletes nothing; it also corrects the count of bills.
Times are ISO 8601; a date alone is midnight UTC.`;

export const define: Define = (verify, program) => {
  reporting(
    verify
      .requiredOption(
        "--from <time>",
        "required: the start, inclusive: 2026-11-01, or 2026-11-01T12:00Z",
      )
      .requiredOption("--to <time>", "required: the end, exclusive")
      .option("--repair", "store missing bills, and restate changed ones", false),
  )
    .addHelpText("after", help)
    .action(program.runs((words: VerifyFlags) => verifyCommand(program, words)));
};
