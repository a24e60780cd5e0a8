import { systemClock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { epochMs, isoTime } from "../contract/time.ts";
import { readSyncedStreams } from "../db/checkpoints.ts";
import { hasSchema } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { UsageError } from "../errors.ts";
import { printableLine } from "../printable.ts";
import {
  acceptBreak,
  type Break,
  type BrokenSpan,
  breakKinds,
  readBrokenSpans,
} from "../reports/reconciliation/breaks.ts";
import {
  type Reconciliation,
  reconcile,
  statementMaxMs,
} from "../reports/reconciliation/reconcile.ts";
import type { ChainSummary, RuleSummary } from "../reports/reconciliation/summary.ts";
import { horizonAt } from "../sync/plan.ts";
import { formatCount, formatCounted, formatTable } from "../terminal/format.ts";
import { type ExitCode, type Io, print, printJson } from "./io.ts";
import { type Selection, selectedStreams } from "./selection.ts";
import { verifyCommand } from "./verify.ts";

export type ReconcileOptions = {
  readonly selection: Selection;
  readonly json: boolean;
  /** All bills again, not only those that changed. */
  readonly full: boolean;
  /** Read the time around each break again, write what differs, and look once more. */
  readonly repair: boolean;
  /** The number of a break to sign off, and the note to keep with it. */
  readonly accept: { readonly breakId: number; readonly note: string } | undefined;
};

/** `reconcile`: holds the ledger against itself. Exit code 0 only where nothing is open. */
export async function reconcileCommand(
  config: Config,
  io: Io,
  options: ReconcileOptions,
): Promise<ExitCode> {
  const notify = (message: string) => {
    io.err.write(`${message}\n`);
  };
  await using database = await openCommandDatabase(config.database, notify, { statementMaxMs });
  const { db } = database;
  if (!(await hasSchema(db))) {
    print(io, "nothing is stored yet; run sync");
    return 0;
  }
  const { accept, selection } = options;
  // Refuses names that nothing is known of.
  selectedStreams(selection, config, await readSyncedStreams(db));
  if (accept !== undefined && !(await acceptBreak(db, accept.breakId, accept.note))) {
    throw new UsageError(`--accept ${accept.breakId}: no open break has this number`);
  }
  let result = await reconcile(db, selection, { isFull: options.full });
  if (options.repair && result.breaks.length > 0) {
    await repair(config, io, await readBrokenSpans(db, selection));
    result = await reconcile(db, selection, { isFull: options.full });
  }
  if (options.json) printJson(io, result);
  else print(io, reconciliationText(result));
  return result.breaks.length === 0 ? 0 : 1;
}

/** Reads the spans again, as `verify --heal` does, which tells on standard error what it wrote. */
async function repair(config: Config, io: Io, spans: readonly BrokenSpan[]): Promise<void> {
  const now = systemClock.now();
  const horizon = horizonAt(now);
  for (const { account, productType, from, to } of spans) {
    const name = `${account}/${productType} ${isoTime(from)} to ${isoTime(to)}`;
    const wanted = config.accounts.filter(
      (known) => known.name === account && known.productTypes.includes(productType),
    );
    const obstacle =
      (to <= horizon && "lies behind the exchange's 90 days") ||
      (from >= now && "lies ahead of this machine's clock") ||
      (wanted.length === 0 && "is not configured");
    if (obstacle) {
      io.err.write(`${name} ${obstacle}: it cannot be read again\n`);
      continue;
    }
    const narrow = {
      ...config,
      accounts: wanted.map((one) => ({ ...one, productTypes: [productType] })),
    };
    // The exchange's clock, which dated the bills, may be ahead of this machine's.
    const span = { from: isoTime(from), to: isoTime(epochMs(Math.min(to, now))) };
    await verifyCommand(narrow, { ...io, out: io.err }, { ...span, heal: true, json: false });
  }
}

/** The number after `--accept`, and the note that has to come with it. */
export function acceptanceOf(
  id: string | undefined,
  note: string | undefined,
): ReconcileOptions["accept"] {
  if (id === undefined && note === undefined) return undefined;
  if (id === undefined) throw new UsageError("--note needs --accept with the number of a break");
  if (!/^#?[1-9]\d{0,14}$/.test(id)) {
    throw new UsageError(`--accept "${id}" is not the number of a break`);
  }
  if (note === undefined || note.trim() === "") {
    throw new UsageError(`--accept ${id} needs --note "why it is as it is"`);
  }
  return { breakId: Number(id.replace("#", "")), note: note.trim() };
}

export function reconciliationText({ chains, rules, breaks, isWhole }: Reconciliation): string {
  const odd = rules.filter(
    ({ category, moves, tested, fitting }) =>
      tested !== fitting || moves !== (category === "margin" ? "nothing" : "amount + fee"),
  );
  const isTestable = rules.every((rule) => rule.isTestable);
  const end =
    breaks.length === 0
      ? `nothing is open: ${isTestable ? "" : "but for what is untestable, "}the ledger adds up`
      : `${formatCounted(breaks.length, "break")} open; ` +
        'sign one off with: reconcile --accept NUMBER --note "…"';
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
    rules.map(({ account, productType, category, moves, tested, fitting, isTestable }) => [
      `${account}/${productType}`,
      category,
      isTestable ? moves : "untestable",
      `${formatCount(fitting)} of ${formatCount(tested)}`,
    ]),
  );

function breakText(entry: Break): string {
  const where = [entry.account, entry.productType].filter((part) => part !== "").join("/");
  const amounts =
    entry.expected === null || entry.observed === null
      ? []
      : [`expected ${entry.expected}, observed ${entry.observed}, off by ${entry.difference}`];
  const bills =
    entry.firstBadBill === null
      ? []
      : [`first bad bill ${entry.firstBadBill}, last good bill ${entry.lastGoodBill ?? "none"}`];
  const place = [where, entry.coin, entry.happenedAt ?? entry.anchor];
  return [
    `#${entry.breakId} ${entry.kind}: ${breakKinds[entry.kind]}`,
    `   ${printableLine(place.filter((part) => part !== "").join(" "))}`,
    ...[...amounts, ...bills, entry.explanation].map((line) => `   ${printableLine(line)}`),
    `   first seen ${entry.firstSeenAt}`,
  ].join("\n");
}
