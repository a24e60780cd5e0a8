import { Option } from "commander";
import type { Config } from "../accounts/config.ts";
import { listed, readRoster, type Selection, selectionOf } from "../accounts/roster.ts";
import { readSelected } from "../accounts/to-read.ts";
import { readComparedBalances } from "../check/health/balances.ts";
import { countFindings, readAccepted, readFindings } from "../check/health/findings.ts";
import { alarms, type Finding } from "../check/health/kinds.ts";
import { readStatus } from "../check/health/ledger-status.ts";
import {
  countLedgers,
  readLists,
  readLoans,
  readTotals,
  worstLedgers,
} from "../check/health/ledgers.ts";
import {
  type Accepted,
  neverSynced,
  unreachableFindings,
  verdictOf,
} from "../check/health/verdict.ts";
import type { Database } from "../core/postgres/connect.ts";
import { readExchangeTime } from "../core/store/known-time.ts";
import { type EpochMs, epochMs } from "../lib/time.ts";
import { formatCount, formatCounted, jsonTime, ledgerName } from "../output/output-format.ts";
import type { Result } from "../output/result.ts";
import type { Io, Wings } from "./io.ts";
import { type Define, type LedgerFlags, reporting } from "./options.ts";
import { findingsMax, storedParts, totalsParts, verdictParts } from "./status-parts.ts";
import { nothingStored, openStored, withUnreachable } from "./stored.ts";

/** Nobody reads more ledgers than this: totals and the worst say more. */
const shownMax = 100;
/** No program reads more at once. */
const listedMax = 10_000;

type StatusFlags = LedgerFlags & {
  readonly format?: "prometheus";
  readonly check?: boolean;
};

type StatusOptions = Pick<StatusFlags, "check"> & {
  readonly selection: Selection;
  /** Whether all that a program may want is read. */
  readonly isJson?: boolean | undefined;
  /** More ledgers than this are added up, and the worst of them listed. */
  readonly ledgersMax?: number;
  readonly wings: Pick<Wings, "queue">;
};

/** `status`: what is found, through when each ledger is read, and what is unread or lost. */
export async function statusCommand(config: Config, io: Io, words: StatusFlags): Promise<Result> {
  const options = { ...words, isJson: io.isJson, wings: io.wings, selection: selectionOf(words) };
  await using stored = await openStored(config, io);
  return await status(stored.db, config, options);
}

/** @param db undefined before the first sync. */
export async function status(
  db: Database | undefined,
  config: Config,
  options: StatusOptions,
): Promise<Result> {
  const { selection, check: isCheck } = options;
  const { result, unreachable } = await readSelected(db, config, selection, (among) =>
    db === undefined ? readNothing(config, selection) : readWhole(db, config, options, among),
  );
  const findings = [...unreachableFindings(unreachable), ...result.findings];
  const verdict = verdictOf(findings, result.accepted);
  return withUnreachable(
    {
      data: result.data,
      parts: [...verdictParts(findings, verdict, result.now), ...result.parts],
      exit: isCheck && findings.some(alarms) ? 1 : 0,
    },
    unreachable,
  );
}

type StatusOfAccounts = Pick<Result, "data" | "parts"> & {
  readonly now: EpochMs;
  readonly findings: readonly Finding[];
  readonly accepted: Accepted | undefined;
};

/** Before the first sync. Unknown names are refused all the same. */
async function readNothing(config: Config, selection: Selection): Promise<StatusOfAccounts> {
  await readRoster(undefined, config, selection);
  return {
    ...{ now: epochMs(0), findings: [neverSynced], accepted: undefined, data: { asOf: null } },
    parts: [...storedParts({}), nothingStored(config)],
  };
}

/** The status of all that can be read, without the findings. */
async function readWhole(
  db: Database,
  config: Config,
  { isJson, selection: typed, ledgersMax, wings }: StatusOptions,
  among: readonly string[] | undefined,
): Promise<StatusOfAccounts> {
  const roster = await readRoster(db, config, typed, among);
  const selection = { ...typed, accounts: among };
  const now = await readExchangeTime(db, among);
  const scope = { ...selection, roster: roster.ledgers, now, limits: config.healthLimits };
  const findings = await readFindings(db, scope, { limit: isJson ? listedMax : findingsMax });
  const limit = ledgersMax ?? (isJson || among !== undefined ? listedMax : shownMax);
  const count = await countLedgers(db, selection);
  const all = listed(roster);
  const isCut = Math.max(count, all.length) > limit;
  const ledgers = isCut ? await worstLedgers(db, { ...selection, limit }) : all;
  const stored = await readStatus(db, ledgers, now);
  const isShown = ({ account }: { readonly account: string }) =>
    !isCut || ledgers.some((ledger) => ledger.account === account);
  const queue = await wings.queue?.();
  const loans = await readLoans(db, selection.accounts);
  return {
    ...{ now, findings, accepted: await readAccepted(db, selection) },
    data: { asOf: jsonTime(now) },
    parts: [
      ...(isCut
        ? totalsParts(await readTotals(db, selection), await countFindings(db, scope))
        : []),
      ...(isCut && count > 0
        ? ["", `the worst ${formatCount(ledgers.length)} of ${formatCounted(count, "ledger")}:`]
        : []),
      ...storedParts({
        ...stored,
        roster: new Map(all.map((ledger) => [ledgerName(ledger), ledger])),
        lists: await readLists(db),
        loans: loans.filter(isShown),
        balances: (await readComparedBalances(db, selection.accounts)).filter(isShown),
        queue: await queue?.readQueue(db),
      }),
    ],
  };
}

const help = `
Findings come first, worst first, most with a command that helps. Then, for
each ledger: read through (the first time that is neither read, lost nor
recovered), share read (of the time from 90 days before the first sync on,
without recovered time), behind (how long ago read through is), unread (the
next sync reads it), lost (the exchange deleted it before it was read, and
nobody accepted it), and expires in: how long until the exchange deletes unread
bills. A first sync may begin two hours late: its history then begins later. Of
more than a hundred ledgers the worst are shown.

serve has the metrics at /metrics, too.`;

export const define: Define = (command, { io, config, runs }) => {
  const { metrics } = io.wings;
  reporting(command)
    .option("--check", "exit with 1 if a finding is critical or a warning", false)
    .addHelpText("after", help)
    .action(
      runs(async ({ format, ...words }: StatusFlags) =>
        metrics && format === "prometheus"
          ? (await metrics()).metricsCommand(config(), io)
          : statusCommand(config({ accounts: words.account }), io, words),
      ),
    );
  if (metrics === undefined) return;
  command.addOption(
    new Option("--format <format>", "print metrics of all accounts instead: prometheus")
      .choices(["prometheus"])
      .conflicts(["json", "account", "product", "check"]),
  );
};
