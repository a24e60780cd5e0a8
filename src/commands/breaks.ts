import type { Config } from "../accounts/config.ts";
import { readRoster, selectionOf } from "../accounts/roster.ts";
import { type Break, discrepancyColumns, isFault, readBreaks } from "../check/reconcile/breaks.ts";
import { decideOnBreaks } from "../check/reconcile/record-breaks.ts";
import { decideOnRejected, listRejected, type RejectedBill } from "../core/store/rejected-bills.ts";
import { UsageError } from "../lib/errors.ts";
import {
  type Columns,
  done,
  fields,
  ledgerColumn,
  type Result,
  type Table,
  table,
} from "../output/result.ts";
import { formatCount, formatCounted, jsonInstant } from "../output/text.ts";
import type { Io } from "./io.ts";
import { type Define, type LedgerFlags, reporting } from "./options.ts";
import { openFilled, openWritable } from "./stored.ts";

const columnsOf = (breaks: readonly Break[]): Columns<Break> => ({
  break: { kind: "text", isForPeople: true, of: ({ breakId }) => `#${breakId}` },
  ...fields<Break>(
    "text",
    ["state"],
    breaks.every(({ state }) => state === "open") ? "" : undefined,
  ),
  ...fields<Break>("text", ["kind"]),
  ...fields<Break>("value", ["breakId", "account", "ledger"]),
  name: {
    kind: "text",
    title: "ledger",
    isForPeople: true,
    of: ({ account, ledger }) => [account, ledger].filter((part) => part !== "").join("/"),
  },
  ...discrepancyColumns,
  ...fields<Break>("value", ["expected", "observed", "lastGoodBill"]),
  firstBadBill: { kind: "text", title: "first bad bill", of: ({ firstBadBill }) => firstBadBill },
  explanation: { kind: "text", title: "because", of: ({ explanation }) => explanation },
  ...fields<Break>("value", ["note", "acceptedBy"]),
  ...fields<Break>("instant", ["firstSeenAt", "acceptedAt", "resolvedAt"], ""),
  decisions: {
    kind: "value",
    of: ({ decisions }) =>
      decisions.map((decision) => ({
        ...decision,
        decidedAt: jsonInstant(decision.decidedAt),
      })),
  },
});

/** @param name empty where programs are not given them. */
export const breaksTable = (name: string, breaks: readonly Break[]): Table =>
  table(name, columnsOf(breaks), breaks);

type Decision = Break["decisions"][number] & Pick<Break, "breakId">;

const decisionColumns: Columns<Decision> = {
  break: { kind: "text", of: ({ breakId }) => `#${breakId}` },
  ...fields<Decision>("text", ["decision"]),
  at: { kind: "instant", of: ({ decidedAt }) => decidedAt },
  by: { kind: "text", of: ({ decidedBy }) => decidedBy },
  ...fields<Decision>("text", ["note"]),
};

/** Every decision on the breaks, oldest first, for people. */
const decisionsTable = (breaks: readonly Break[]): Table =>
  table(
    "",
    decisionColumns,
    breaks.flatMap(({ breakId, decisions }) => decisions.map((one) => ({ ...one, breakId }))),
  );

type ListFlags = LedgerFlags & { readonly all: boolean };

/** How many rejected rows a person is shown. JSON has all. */
const rowsShownMax = 100;

/** `breaks list`: what does not add up, as the last check found it, and rows that could not be read. */
async function listCommand(
  config: Config,
  io: Io,
  { all: isAll, ...which }: ListFlags,
): Promise<Result> {
  const selection = selectionOf(which);
  await using stored = await openFilled(config, io);
  const { db } = stored;
  await readRoster(db, config, selection);
  const breaks = await readBreaks(db, selection, { isAll });
  const rejected = await listRejected(db, selection, isAll ? "all" : "open");
  const isOpen =
    rejected.some(({ note }) => note === null) ||
    breaks.some((entry) => entry.state === "open" && isFault(entry));
  const more = rejected.length - rowsShownMax;
  const parts = [
    breaks.length + rejected.length === 0 &&
      `no break ${isAll ? "was ever recorded" : "is open"}; bill-sync status says what is not checked yet`,
    breaksTable("breaks", breaks),
    isAll && decisionsTable(breaks),
    table("rejected", rejectedColumns(isAll), rejected, rejected.slice(0, rowsShownMax)),
    more > 0 && `and ${formatCount(more)} more rows in rejected_bills`,
  ];
  return { data: {}, parts, exit: isOpen ? 1 : 0 };
}

const rejectedColumns = (isAll: boolean): Columns<RejectedBill> => {
  const ofAcceptance = isAll ? {} : { title: "" };
  return {
    ...ledgerColumn((row) => row),
    digest: { kind: "text", title: "rejected row", of: ({ digest }) => digest },
    fault: {
      ...{ kind: "text", isForPeople: true },
      of: ({ path, reason }) => `${path === "" ? "" : `${path}: `}${reason}`,
    },
    ...fields<RejectedBill>("text", ["path", "reason"], ""),
    ...fields<RejectedBill>("instant", ["rejectedAt"], ""),
    note: { kind: "text", ...ofAcceptance, of: ({ note }) => note },
    acceptedBy: { kind: "text", title: "by", ...ofAcceptance, of: ({ acceptedBy }) => acceptedBy },
  };
};

type DecideFlags = { readonly note?: string; readonly by?: string };

/**
 * `breaks accept` and `breaks reopen`. Either all that are named are changed, or none: breaks and rejected rows are
 * decided on in transactions of their own, so that one command names one kind.
 */
async function decideCommand(
  config: Config,
  io: Io,
  isAccept: boolean,
  ids: readonly string[],
  words: DecideFlags,
): Promise<Result> {
  const { breakIds, digests } = namedBy(ids);
  const note = words.note?.trim() || undefined;
  const by = words.by?.trim() || undefined;
  if (isAccept && !/\p{L}/u.test(note ?? ""))
    throw new UsageError("breaks accept needs --note, and in it the reason");
  if (words.by !== undefined && by === undefined) throw new UsageError("--by needs a name");
  if (!isAccept && digests.length > 0 && (note ?? by) !== undefined)
    throw new UsageError(
      "a rejected row that is reopened keeps neither --note nor --by: leave them out",
    );
  const areRows = digests.length > 0;
  if (areRows && breakIds.length > 0)
    throw new UsageError(
      "numbers of breaks and digests of rejected rows do not go together: give each a command of its own",
    );
  await using database = await openWritable(config, io);
  const { db } = database;
  const missing = areRows
    ? await decideOnRejected(db, { digests, note, by })
    : await decideOnBreaks(db, { breakIds, isAccept, note: note ?? null, by: by ?? null });
  if (missing.length > 0) {
    const state = isAccept ? "open" : "accepted";
    const names = missing.map((name) => (areRows ? name : `#${name}`)).join(" or ");
    throw new UsageError(
      `there is no ${state} ${areRows ? "rejected row" : "break"} ${names}; nothing was changed. ` +
        "bill-sync breaks list --all shows all",
    );
  }
  const what = areRows
    ? formatCounted(digests.length, "rejected row")
    : `${formatCounted(breakIds.length, "break")} (${breakIds.map((id) => `#${id}`).join(", ")})`;
  const reason = isAccept ? `${by === undefined ? "" : ` by ${by}`}: ${note}` : "";
  return done(`${isAccept ? "accepted" : "reopened"} ${what}${reason}`);
}

// A longer list is a typing error: no ledger was seen with a thousand breaks to accept.
const numbersMax = 10_000;

/** The numbers of breaks, such as "3", "#4" or "7-9", and the digests of rejected rows, each once. */
function namedBy(words: readonly string[]) {
  const breakIds = new Set<number>();
  const digests = new Set<string>();
  for (const part of words.flatMap((word) => word.split(",")).map((word) => word.trim())) {
    const [, first, last = first] =
      /^#?([1-9]\d{0,14})(?:\s*-\s*#?([1-9]\d{0,14}))?$/.exec(part) ?? [];
    if (/^[0-9a-f]{64}$/.test(part)) digests.add(part);
    else if (first === undefined)
      throw new UsageError(
        `"${part}" is neither the number of a break nor a rejected row's digest of 64 hexadecimal digits; ` +
          "several are written 3,4,7-9",
      );
    else if (Number(last) < Number(first))
      throw new UsageError(`"${part}": ${first}-${last} goes backwards`);
    else if (breakIds.size + Number(last) - Number(first) >= numbersMax)
      throw new UsageError(`"${part}": these are more than ${numbersMax} breaks`);
    else for (let id = Number(first); id <= Number(last); id++) breakIds.add(id);
  }
  return { breakIds: [...breakIds], digests: [...digests] };
}

export const define: Define = (breaks, { io, config, runs }) => {
  reporting(breaks.command("list"))
    .description("list what does not add up, as the last check found it, and rejected rows")
    .option("--all", "include breaks that are accepted or resolved", false)
    .action(runs((words: ListFlags) => listCommand(config(), io, words)));
  const decide = (isAccept: boolean) =>
    runs((ids: readonly string[], words: DecideFlags) =>
      decideCommand(config(), io, isAccept, ids, words),
    );
  breaks
    .command("accept")
    .argument("<id...>", "numbers of breaks, as 3 or 3,4,7-9; digests of rejected rows")
    .description("accept breaks or rejected rows; a break whose difference changes opens again")
    .requiredOption("--note <text>", "required: why they are accepted")
    .option("--by <name>", "who accepts them")
    .action(decide(true));
  breaks
    .command("reopen")
    .argument("<id...>", "as for accept")
    .description("reopen breaks or rejected rows that are accepted")
    .option("--note <text>", "why they are reopened; of breaks only")
    .option("--by <name>", "who reopens them; of breaks only")
    .action(decide(false));
};
