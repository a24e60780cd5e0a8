import type { RejectedCount } from "../check/health/ledgers.ts";
import type { Break } from "../check/reconcile/breaks.ts";
import { type AccountReport, isComplete } from "../core/sync/run.ts";
import type { ListReport } from "../core/sync/settings-lists.ts";
import { messageOf } from "../lib/errors.ts";
import { ledgerName, ledgerNames, riskUnitName } from "../output/output-format.ts";
import { isFault } from "./breaks.ts";
import { exitOf, type RunExit, type RunFacts } from "./exit-code.ts";

/** What the check of what changed found, with which a sync ends. */
export type AccountsChecked = {
  /** How many breaks are open. */
  readonly open: number;
  /** The breaks that were not open before. */
  readonly opened: readonly Break[];
};

export type NamedList = ListReport & { readonly name: string };

/** What a run did. */
export type SyncRun = {
  readonly runId: string;
  /** The lists of symbols, and of each product type's contracts, that were targets. */
  readonly lists: readonly NamedList[];
  /** What of the accounts was not synced, since it is paused or retired. */
  readonly notSynced: readonly string[];
  readonly accounts: readonly AccountReport[];
  /**
   * All open rejected rows, those of earlier runs included. Or the error that prevented
   * reading them: without them, nobody knows whether the ledger is complete.
   */
  readonly rejected: readonly RejectedCount[] | { readonly error: unknown };
  /** The check that ends the run; undefined if none was made. Or the error that ended it. */
  readonly reconciled?: AccountsChecked | { readonly error: unknown } | undefined;
  readonly elapsedMs: number;
};

/** What a run did, and its outcome. */
export type SyncResult = SyncRun & RunFacts & RunExit;

/** Computes the outcome. Rejected rows of ledgers that this run did not sync are left out. */
export function syncResult(syncRun: SyncRun): SyncResult {
  const synced = new Set(
    syncRun.accounts.flatMap(({ ledgers }) => ledgers.map(({ ledger }) => ledgerName(ledger))),
  );
  const rejected =
    "error" in syncRun.rejected
      ? syncRun.rejected
      : syncRun.rejected.filter((count) => synced.has(ledgerName(count)));
  const run = { ...syncRun, rejected };
  const facts = factsOf(run);
  return { ...run, ...facts, ...exitOf(facts) };
}

/** All that failed of a run, by name. An account's ledgers with the same error have one name. */
export const failuresOf = ({ accounts, rejected, reconciled, lists }: SyncRun) =>
  [
    ...lists,
    ...accounts.flatMap(({ account, error, loanToValue, ledgers, recovery = [] }) => [
      { name: account, error },
      ...recovery.map((tax) => ({ ...tax, name: `${ledgerName(tax.ledger)} tax records` })),
      ...loanToValue.map((unit) => ({ ...unit, name: riskUnitName(unit) })),
      ...[...Map.groupBy(ledgers, (one) => one.error && messageOf(one.error)).values()].map(
        (alike) => ({ ...alike[0], name: ledgerNames(alike.map(({ ledger }) => ledger)) }),
      ),
    ]),
    { name: "rejected_bills", error: "error" in rejected ? rejected.error : undefined },
    { error: undefined, ...reconciled, name: "reconcile" },
  ].filter(({ error }) => error !== undefined);

function factsOf(run: SyncRun): RunFacts {
  const { accounts, rejected, lists, reconciled = { opened: [] } } = run;
  const wholeReports = accounts.filter(({ error }) => error === undefined);
  return {
    errors: failuresOf(run).map(({ error }) => error),
    isIncomplete:
      // A rejected row is not among the bills, so the ledger is not complete.
      (!("error" in rejected) && rejected.length > 0) ||
      // A break that an earlier check has found fails no later sync.
      (!("error" in reconciled) && reconciled.opened.some(isFault)) ||
      lists.some(({ broken }) => broken.length > 0) ||
      !wholeReports.every(isComplete),
    didWork:
      accounts.length === 0
        ? lists.some(({ counts }) => counts !== undefined)
        : wholeReports.length > 0,
  };
}
