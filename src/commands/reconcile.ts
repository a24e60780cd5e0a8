import type { Config } from "../accounts/config.ts";
import { accountsToRead, everyLedger, readRoster, selectionOf } from "../accounts/roster.ts";
import { type BrokenSpan, countAccepted, isFault } from "../check/reconcile/breaks.ts";
import {
  type ChainSummary,
  type Reconciliation,
  type RuleSummary,
  reconcileAndHeal,
  statementMaxMs,
  type UnexplainedSum,
} from "../check/reconcile/reconcile.ts";
import { movesText } from "../check/reconcile/rules.ts";
import { repairedIn } from "../check/verify/verify.ts";
import { openExchangeAccess } from "../core/exchange/session.ts";
import type { Database } from "../core/postgres/connect.ts";

import { Leases } from "../core/store/lease.ts";
import { expectedRule } from "../core/views/wallet-moves.ts";
import { printableLine } from "../lib/printable.ts";
import { type Columns, fields, type Result, table } from "../output/result.ts";
import { formatCount, formatCounted } from "../output/text.ts";
import { breaksTable } from "./breaks.ts";
import { healAccount, healedLines, unreadableLines } from "./heal.ts";
import { type Io, note } from "./io.ts";
import { loggedRun } from "./logged-run.ts";
import { type Define, type LedgerFlags, reporting } from "./options.ts";
import { openFilled } from "./stored.ts";

type ReconcileOptions = {
  /** Checks all bills again, not only changed ones. */
  readonly full: boolean;
  /** Reads the time around each break again, writes what differs, and checks once more. */
  readonly repair: boolean;
};

/** `reconcile`: checks the ledger against itself. The exit code is 0 only if nothing but restatements is open. */
export async function reconcileCommand(
  config: Config,
  io: Io,
  options: LedgerFlags & ReconcileOptions,
): Promise<Result> {
  await using stored = await openFilled(config, io, { statementMaxMs });
  const { db } = stored;
  const selection = selectionOf(options);
  await readRoster(db, config, selection);
  const notice = (message: string) => note(io, message);
  let healed = 0;
  const heal = async (spans: readonly BrokenSpan[]) => {
    healed = await repair(config, io, db, spans);
    return healed > 0;
  };
  const run = async () => {
    const repairs = options.repair ? heal : undefined;
    const checking = { isFull: options.full, skipsFailed: false };
    const checked = await reconcileAndHeal(db, selection, checking, repairs);
    const { isFull, chains, breaks } = checked;
    const accepted = await countAccepted(db, selection);
    const errors = io.signal.aborted ? [io.signal.reason] : [];
    // Whether all bills of all accounts were checked.
    const isOfAll = isFull && !selection.accounts && !selection.productTypes;
    const counts = { isFull, isOfAll, chains: chains.length, breaks: breaks.length, healed };
    const facts = { errors, isIncomplete: breaks.some(isFault), didWork: true };
    return { ...checked, ...facts, accepted, counts };
  };
  const end = await loggedRun({ db, notice }, "reconcile", run);
  return { ...resultOfReconcile(end, end.accepted), exit: end.exitCode };
}

const chainColumns: Columns<ChainSummary> = {
  checked: {
    kind: "text",
    of: ({ account, wallet, coin }) => `${account}/${wallet} ${coin}`,
  },
  ...fields<ChainSummary>("count", ["bills", "tested"]),
  rounded: {
    kind: "amount",
    of: ({ rounded, rounding }) => (rounded === 0 ? null : `${formatCount(rounded)} (${rounding})`),
  },
  reconciled: { kind: "count", title: "days reconciled", of: ({ days }) => days.reconciled },
  incomplete: { kind: "count", title: "other days", of: ({ days }) => days.incomplete },
  broken: { kind: "count", of: ({ days }) => days.broken },
};

const ruleColumns: Columns<RuleSummary> = {
  wallet: {
    kind: "text",
    title: "what moves the balance",
    of: ({ account, productType }) => `${account}/${productType}`,
  },
  category: { kind: "text", of: ({ businessType, category }) => businessType ?? category },
  by: { kind: "text", of: ({ isTestable, moves }) => (isTestable ? moves : "untestable") },
  fits: {
    kind: "amount",
    of: ({ fitting, tested }) => `${formatCount(fitting)} of ${formatCount(tested)}`,
  },
};

const unexplainedText = ({ account, wallet, coin, balances, detail }: UnexplainedSum): string =>
  `${printableLine(`${account}/${wallet} ${coin}`)}: ${formatCounted(balances, "balance")} ${printableLine(detail)}`;

/**
 * What a check found. Rules are shown only where they are not the expected ones, or do not fit.
 * @param accepted how many breaks are accepted of which something does not add up.
 */
export function resultOfReconcile(
  { chains, rules, unexplained, breaks, isFull }: Reconciliation,
  accepted: number,
): Result {
  const odd = rules.filter(
    ({ category, businessType, moves, tested, fitting }) =>
      tested !== fitting || businessType !== null || moves !== movesText(expectedRule(category)),
  );
  const exceptions = [
    ...(unexplained.length === 0 ? [] : ["what no rule explains"]),
    ...(accepted === 0 ? [] : [formatCounted(accepted, "accepted break")]),
  ].join(" and ");
  const whole = `nothing is open: ${exceptions === "" ? "" : `apart from ${exceptions}, `}the ledger adds up`;
  const open = `${formatCounted(breaks.length, "break")} open; bill-sync status says what to do`;
  return {
    data: { isFull, chains, rules, unexplained },
    parts: [
      chains.length === 0 && "no bill was stored since the last check",
      table("", chainColumns, chains),
      table("", ruleColumns, odd),
      ...unexplained.map(unexplainedText),
      breaksTable("breaks", breaks),
      breaks.length > 0 ? open : isFull ? whole : "no new break in what changed; --full checks all",
    ],
    exit: breaks.some(isFault) ? 1 : 0,
  };
}

/** Reads broken time again, and stores what differs. @returns how many bills were stored. */
async function repair(
  config: Config,
  io: Io,
  db: Database,
  spans: readonly BrokenSpan[],
): Promise<number> {
  const notice = (message: string) => note(io, message);
  const { selected } = await accountsToRead(db, config, everyLedger);
  await using access = openExchangeAccess();
  const deps = { config, db, access, leases: new Leases(db), notice, signal: io.signal };
  for (const line of await unreadableLines(db, selected, spans)) notice(line);
  let stored = 0;
  for (const account of selected) {
    const healed = await healAccount(deps, account, spans);
    stored += repairedIn(healed.ledgers);
    for (const line of healedLines(healed)) notice(line);
  }
  return stored;
}

export const define: Define = (command, { io, config, runs }) => {
  const reconcile = (words: LedgerFlags & ReconcileOptions) =>
    reconcileCommand(config({ credentials: words.repair }), io, words);
  reporting(command)
    .option("--full", "check and count all bills again, not only what changed", false)
    .option("--repair", "read the windows around each break again, and write what differs", false)
    .action(runs(reconcile));
};
