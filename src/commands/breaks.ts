import { type Command, Option } from "commander";
import { readBreaks } from "../audit/breaks.ts";
import { decideOnBreaks } from "../audit/record-breaks.ts";
import { readAccountStates } from "../db/accounts/account-states.ts";
import type { Unreachable } from "../db/citus.ts";
import type { Database } from "../db/connect.ts";
import { openCommandDatabase } from "../db/open.ts";
import { UsageError } from "../errors.ts";
import { decideOnRejected, listRejected, type RejectedBill } from "../ledger/rejected-bills.ts";
import { formatCount, formatCounted } from "../output/format.ts";
import { type Columns, type Result, table } from "../output/result.ts";
import { streamName } from "../output/stream-names.ts";
import { unreachableJson, unreachableLines } from "../output/unreachable-text.ts";
import { type Config, readConfig } from "../roster/config.ts";
import { notFoundAmong, reachableSelection } from "../roster/reachable.ts";
import { everyLedger, type Selection, selectionOf } from "../roster/roster.ts";
import { type ExitCode, type Io, print, tell } from "./io.ts";
import { answer, type Define, type Reporting, reporting } from "./options.ts";
import { breakJson, breaksTable, decidedTable, markRetired } from "./reconcile/break-rows.ts";
import { noResult, openStored } from "./stored.ts";

type ListOptions = { readonly all: boolean; readonly json: boolean; readonly selection: Selection };

/** How many rejected rows a person is shown. JSON has all. */
const rowsShownMax = 100;

/** `breaks list`: what does not add up, as the last check found it, and rows that could not be read. */
async function listCommand(config: Config, io: Io, options: ListOptions): Promise<ExitCode> {
  await using stored = await openStored(config, io);
  const { db } = stored;
  const nothing = { breaks: [], rejected: [], ...unreachableJson([]) };
  const result = db === undefined ? noResult(config, nothing) : await list(db, config, options);
  return answer(io, options.json, result);
}

async function list(
  db: Database,
  config: Config,
  { all: isAll, selection: asked }: ListOptions,
): Promise<Result> {
  const { selection, unreachable } = await reachableSelection(db, config, asked);
  const listed = await readBreaks(db, selection, { isAll });
  const breaks = listed.map(markRetired(await readAccountStates(db, selection.accounts)));
  const rejected = await listRejected(db, selection);
  const isOpen = rejected.length > 0 || breaks.some(({ state }) => state === "open");
  const more = rejected.length - rowsShownMax;
  const nothing = isAll
    ? "no break was ever found"
    : "nothing is open; --all lists what is accepted or resolved";
  return {
    data: { breaks: breaks.map(breakJson), rejected, ...unreachableJson(unreachable) },
    parts: [
      ...(breaks.length + rejected.length === 0 ? [nothing] : []),
      breaksTable(breaks),
      ...(isAll ? [decidedTable(breaks)] : []),
      table("", rejectedColumns, rejected.slice(0, rowsShownMax)),
      ...(more > 0 ? [`and ${formatCount(more)} more rows in rejected_bills`] : []),
      ...unreachableLines(unreachable),
    ],
    exit: unreachable.length > 0 || isOpen ? 1 : 0,
  };
}

export const rejectedColumns: Columns<RejectedBill> = {
  ledger: { kind: "text", of: (row) => streamName(row) },
  row: { kind: "text", title: "rejected row", of: ({ digest }) => digest },
  fault: { kind: "text", of: ({ path, reason }) => `${path === "" ? "" : `${path}: `}${reason}` },
};

type DecideWords = {
  readonly account?: readonly string[];
  readonly product?: readonly string[];
  readonly note?: string;
  readonly by?: string;
};

/** `breaks accept` and `breaks reopen`. Either all that are named are changed, or none. */
async function decideCommand(
  config: Config,
  io: Io,
  { ids, isAccept, words }: { ids: readonly string[]; isAccept: boolean; words: DecideWords },
): Promise<ExitCode> {
  const { breakIds, digests } = namedBy(ids);
  const note = words.note?.trim() || undefined;
  const by = words.by?.trim() || undefined;
  if (isAccept && note === undefined)
    throw new UsageError('accepting needs --note "why it is accepted"');
  if (words.by !== undefined && by === undefined) throw new UsageError("--by needs a name");
  await using database = await openCommandDatabase(config.database, (message) => tell(io, message));
  const { db } = database;
  const verb = isAccept ? "accepted" : "reopened";
  const end = isAccept ? `${by === undefined ? "" : ` by ${by}`}: ${note}` : "";
  if (breakIds.length > 0) {
    const what = isAccept ? "open break" : "accepted break";
    await change(db, config, everyLedger, what, (among) =>
      decideOnBreaks(
        db,
        { breakIds, isAccept, note: note ?? null, by: by ?? null },
        among.accounts,
      ),
    );
    const names = breakIds.map((id) => `#${id}`).join(", ");
    print(io, `${verb} ${formatCounted(breakIds.length, "break")} (${names})${end}`);
  }
  if (digests.length > 0) {
    const what = isAccept ? "unresolved row of rejected_bills" : "accepted row of rejected_bills";
    await change(db, config, selectionOf(words), what, (among) =>
      decideOnRejected(db, { digests, note: isAccept ? note : undefined }, among),
    );
    print(io, `${verb} ${formatCounted(digests.length, "rejected row")}${end}`);
  }
  return 0;
}

/**
 * @param make returns the names that were not found; then nothing was changed.
 * @throws UsageError for such names; DatabaseError if they may be of accounts whose rows cannot be read.
 */
async function change(
  db: Database,
  config: Config,
  asked: Selection,
  what: string,
  make: (among: Selection) => Promise<readonly (number | string)[]>,
): Promise<void> {
  const { selection, unreachable } = await reachableSelection(db, config, asked);
  const missing = await make(selection);
  if (missing.length > 0) throw notFound(missing, what, unreachable);
}

function notFound(
  missing: readonly (number | string)[],
  what: string,
  unreachable: readonly Unreachable[],
): Error {
  const none = `${missing.join(",")}: no ${what} is named so`;
  return unreachable.length > 0
    ? notFoundAmong(none, unreachable)
    : new UsageError(`${none}; nothing was changed. bill-sync breaks list --all shows all`);
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

export const define: Define = (breaks, { io, readEnvironment }, exitWith) => {
  const configOf = () => readConfig(readEnvironment(), { credentials: false });
  const decide =
    (isAccept: boolean) =>
    (ids: readonly string[], words: DecideWords): Promise<ExitCode> =>
      decideCommand(configOf(), io, { ids, isAccept, words });
  reporting(breaks.command("list"))
    .description("list what does not add up, as the last check found it, and rejected rows")
    .option("--all", "include breaks that are accepted or resolved", false)
    .action(
      exitWith((options: Reporting & { readonly all: boolean }) =>
        listCommand(configOf(), io, { ...options, selection: selectionOf(options) }),
      ),
    );
  const narrowed = (command: Command) =>
    command
      .argument("<id...>", "numbers of breaks, as 3 or 3,4,7-9; digests of rejected rows")
      .addOption(new Option("--account <name...>", "rejected rows of these accounts only"))
      .addOption(new Option("--product <type...>", "rejected rows of these product types only"));
  narrowed(breaks.command("accept"))
    .description("accept breaks or rejected rows for good; they stay on record")
    .requiredOption("--note <text>", "why they are accepted")
    .option("--by <name>", "who accepts them")
    .action(exitWith(decide(true)));
  narrowed(breaks.command("reopen"))
    .description("take this back")
    .option("--note <text>", "why they are reopened")
    .option("--by <name>", "who reopens them")
    .action(exitWith(decide(false)));
};
