import { type Break, countSignedOff, readBrokenSpans } from "../../audit/breaks.ts";
import type { ChainSummary, RuleSummary } from "../../audit/reconcile.ts";
import { type Reconciliation, reconcile, statementMaxMs } from "../../audit/reconcile.ts";
import { movesText } from "../../audit/rules.ts";
import { readAccountStates } from "../../db/accounts/account-states.ts";
import type { Database } from "../../db/connect.ts";
import { hasSchema } from "../../db/migrate.ts";
import { openCommandDatabase } from "../../db/open.ts";
import { expectedRule } from "../../db/sql/expected-rule.ts";
import type { BillCount } from "../../ledger/bill-counts.ts";
import type { DifferingDay } from "../../ledger/differing-days.ts";
import { formatCount, formatCounted, formatTable } from "../../output/format.ts";
import { unreachableJson, unreachableLines } from "../../output/unreachable-text.ts";
import { printableLine } from "../../printable.ts";
import { type Config, readConfig } from "../../roster/config.ts";
import { reachableSelection } from "../../roster/reachable.ts";
import { type Selection, selectionOf } from "../../roster/roster.ts";
import { exitOf } from "../exit-code.ts";
import { type ExitCode, type Io, print, printJson, tell } from "../io.ts";
import { type LoggedEnd, loggedRun } from "../logged-run.ts";
import { type Define, type Reporting, reporting } from "../options.ts";
import { breakJson, breakText, type Marked, markRetired } from "./break-text.ts";
import { recountText } from "./recount.ts";
import { repair } from "./repair.ts";

export type ReconcileOptions = {
  readonly selection: Selection;
  readonly json: boolean;
  /** Checks all bills again, not only changed ones. */
  readonly full: boolean;
  /** Reads the time around each break again, writes what differs, and checks once more. */
  readonly repair: boolean;
};

/** `reconcile`: checks the ledger against itself. The exit code is 0 only if nothing is open. */
export async function reconcileCommand(
  config: Config,
  io: Io,
  options: ReconcileOptions,
): Promise<ExitCode> {
  const notify = (message: string) => tell(io, message);
  await using database = await openCommandDatabase(config.database, notify, { statementMaxMs });
  const { db } = database;
  if (!(await hasSchema(db))) {
    const nothing = { ...reconciliationJson(nothingStored, nothingWrong), ...unreachableJson([]) };
    if (options.json) printJson(io, nothing);
    else print(io, "nothing is stored yet; run sync");
    return 0;
  }
  const reachable = await reachableSelection(db, config, options.selection);
  const run = () => check(config, io, db, { ...options, ...reachable });
  return await loggedRun(db, "reconcile", run, io.signal);
}

type Reachable = ReconcileOptions & Awaited<ReturnType<typeof reachableSelection>>;

/** The result of a check, with the breaks of retired ledgers marked. */
type Checked = Pick<Reconciliation, "isWhole" | "chains" | "rules"> & {
  readonly breaks: readonly Marked<Break>[];
};

const nothingStored: Checked = { isWhole: true, chains: [], rules: [], breaks: [] };

async function check(
  config: Config,
  io: Io,
  db: Database,
  { selection, unreachable, full: isFull, repair: isRepair, json }: Reachable,
): Promise<LoggedEnd> {
  const first = await reconcile(db, selection, { isFull });
  const isRepaired = isRepair && first.breaks.length > 0;
  if (isRepaired) await repair({ db, config, io }, await readBrokenSpans(db, selection));
  const result = isRepaired ? await reconcile(db, selection, { isFull }) : first;
  const recounted = [...first.recounted, ...(isRepaired ? result.recounted : [])];
  const wrongDays = [...first.wrongDays, ...(isRepaired ? result.wrongDays : [])];
  const { isWhole, chains, rules } = result;
  const breaks = result.breaks.map(markRetired(await readAccountStates(db, selection.accounts)));
  const checked = { isWhole, chains, rules, breaks };
  const told = [...recounted.map(recountText), ...wrongDays.map(wrongDayText)];
  const left = unreachableLines(unreachable).map((line) => `not checked: ${line}`);
  if (json) {
    const setRight = { recounted, wrongDays };
    printJson(io, { ...reconciliationJson(checked, setRight), ...unreachableJson(unreachable) });
  } else {
    const signedOff = await countSignedOff(db, selection);
    const text = reconciliationText(checked, signedOff, { areAll: left.length === 0 });
    print(io, [...told, text, ...left].join("\n"));
  }
  const errors = [
    ...(io.signal.aborted ? [io.signal.reason] : []),
    ...unreachable.map(({ error }) => error),
  ];
  return {
    ...exitOf({ errors, isOpen: breaks.length > 0, isAnythingDone: true }),
    counts: {
      isWhole,
      // Whether all bills of all accounts were checked.
      isOfAll: isWhole && !selection.accounts && !selection.productTypes,
      chains: chains.length,
      breaks: breaks.length,
    },
    errors,
  };
}

/** Stored summaries that differed from the rows and were stored anew. */
type SetRight = {
  readonly recounted: readonly BillCount[];
  readonly wrongDays: readonly DifferingDay[];
};

const nothingWrong: SetRight = { recounted: [], wrongDays: [] };

const wrongDayText = ({ account, wallet, coin, day }: DifferingDay): string =>
  `${printableLine(`${account}/${wallet} ${coin} ${day}`)}: the stored day did not agree with its ` +
  "bills; it was added up anew";

const reconciliationJson = (result: Checked, setRight: SetRight): object => ({
  ...result,
  breaks: result.breaks.map(breakJson),
  ...setRight,
});

/**
 * @param signedOff how many breaks are signed off of which something does not add up.
 * @param areAll whether all accounts were checked that were asked for.
 */
export function reconciliationText(
  { chains, rules, breaks, isWhole }: Checked,
  signedOff: number,
  { areAll } = { areAll: true },
): string {
  const odd = rules.filter(
    ({ category, businessType, moves, tested, fitting }) =>
      tested !== fitting || businessType !== null || moves !== movesText(expectedRule(category)),
  );
  const isTestable = rules.every((rule) => rule.isTestable);
  const exceptions = [
    ...(isTestable ? [] : ["what is untestable"]),
    ...(signedOff === 0
      ? []
      : [`${formatCounted(signedOff, "break")} that ${signedOff === 1 ? "is" : "are"} signed off`]),
  ].join(" and ");
  const whole = areAll ? "the ledger" : "what was checked";
  const end =
    breaks.length === 0
      ? `nothing is open: ${exceptions === "" ? "" : `apart from ${exceptions}, `}${whole} adds up`
      : `${formatCounted(breaks.length, "break")} open; ` +
        'to accept one: bill-sync breaks accept NUMBER --note "…"';
  return [
    chains.length === 0 ? "no bill was stored since the last check" : chainTable(chains),
    ...(odd.length === 0 ? [] : ["", ruleTable(odd)]),
    ...(breaks.length === 0 ? [] : ["", ...breaks.map(breakText)]),
    "",
    isWhole ? end : `${end} (checked what changed; --full checks all)`,
  ].join("\n");
}

const chainTable = (chains: readonly ChainSummary[]): string =>
  formatTable(
    ["checked", "bills", "tested", "rounded", "days reconciled", "not all read", "broken"],
    chains.map(({ account, productType, coin, bills, tested, rounded, rounding, days }) => [
      `${account}/${productType} ${coin}`,
      formatCount(bills),
      formatCount(tested),
      rounded === 0 ? "-" : `${formatCount(rounded)} (${rounding})`,
      formatCount(days.reconciled),
      formatCount(days.incomplete),
      formatCount(days.broken),
    ]),
  );

const ruleTable = (rules: readonly RuleSummary[]): string =>
  formatTable(
    ["what moves the balance", "category", "by", "fits"],
    rules.map(({ account, productType, category, businessType, ...rule }) => [
      `${account}/${productType}`,
      businessType ?? category,
      rule.isTestable ? rule.moves : "untestable",
      `${formatCount(rule.fitting)} of ${formatCount(rule.tested)}`,
    ]),
  );

type ReconcileWords = Reporting & {
  readonly full: boolean;
  readonly repair: boolean;
};

export const define: Define = (command, { io, readEnvironment }, exitWith) => {
  const reconcile = (options: ReconcileWords) =>
    reconcileCommand(readConfig(readEnvironment(), { credentials: options.repair }), io, {
      json: options.json,
      full: options.full,
      repair: options.repair,
      selection: selectionOf(options),
    });
  reporting(command)
    .option("--full", "check and count all bills again, not only what changed", false)
    .option("--repair", "read the time around each break again, and write what differs", false)
    .action(exitWith(reconcile));
};
