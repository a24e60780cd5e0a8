import type { Break } from "../../audit/breaks.ts";
import type { RejectedCount } from "../../ledger/rejected-bills.ts";
import { type AccountReport, isComplete } from "../../sync/run.ts";
import type { ContractsReport, SymbolsReport } from "../../sync/settings-lists.ts";
import { exitOf, type RunExit } from "../exit-code.ts";
import type { AccountsChecked } from "../reconcile/check-accounts.ts";

/** What a run did. */
export type SyncRun = {
  readonly runId: string;
  /** Undefined if symbols were not a target. */
  readonly symbols: SymbolsReport | undefined;
  /** One for each product type; undefined if contracts were not a target. */
  readonly contracts: readonly ContractsReport[] | undefined;
  readonly reports: readonly AccountReport[];
  /**
   * All unresolved rejected rows, those of earlier runs included. Or the error that prevented
   * reading them: without them, nobody knows whether the ledger is complete.
   */
  readonly rejected: readonly RejectedCount[] | { readonly error: unknown };
  /** The check that ends the run; undefined if none was made. Or the error that ended it. */
  readonly reconciled?: AccountsChecked | { readonly error: unknown } | undefined;
  readonly elapsedMs: number;
};

/** What a run did, and its outcome. */
export type SyncResult = SyncRun & RunExit;

/** Computes the outcome. Rejected rows of streams that this run did not sync are left out. */
export function syncResult(given: SyncRun): SyncResult {
  const { reports } = given;
  const rejected =
    "error" in given.rejected
      ? given.rejected
      : given.rejected.filter(({ account, productType }) =>
          reports.some(({ streams }) =>
            streams.some(
              ({ stream }) => stream.account === account && stream.productType === productType,
            ),
          ),
        );
  const run = { ...given, rejected };
  return { ...run, ...exitOf({ errors: errorsOf(run), ...factsOf(run) }) };
}

/** All errors of a run. */
export const errorsOf = ({
  symbols,
  contracts = [],
  reports,
  rejected,
  reconciled,
}: Omit<SyncRun, "runId" | "elapsedMs">): readonly unknown[] =>
  [
    symbols?.error,
    ...contracts.map(({ error }) => error),
    ...reports.flatMap(({ error, loanToValue, streams }) => [
      error,
      ...[...loanToValue, ...streams].map((part) => part.error),
    ]),
    "error" in rejected ? rejected.error : undefined,
    reconciled !== undefined && "error" in reconciled ? reconciled.error : undefined,
  ].filter((error) => error !== undefined);

/** The breaks that no earlier check has told. A restated bill is no fault of the ledger. */
export const newFaults = (reconciled: SyncRun["reconciled"]): readonly Break[] =>
  reconciled === undefined || "error" in reconciled
    ? []
    : reconciled.opened.filter(({ kind }) => kind !== "restatement");

function factsOf({ symbols, contracts = [], reports, rejected, reconciled }: SyncRun) {
  const lists = [...(symbols === undefined ? [] : [symbols]), ...contracts];
  const wholeReports = reports.filter(({ error }) => error === undefined);
  return {
    isOpen:
      // A rejected row is not among the bills, so the ledger is not complete.
      (!("error" in rejected) && rejected.length > 0) ||
      newFaults(reconciled).length > 0 ||
      lists.some(({ broken }) => broken.length > 0) ||
      !wholeReports.every(isComplete),
    isAnythingDone:
      reports.length === 0
        ? lists.some(({ stored }) => stored !== undefined)
        : wholeReports.length > 0,
  };
}
