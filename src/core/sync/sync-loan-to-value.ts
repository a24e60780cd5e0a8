import { ExchangeError, type ExchangeErrorKind, ReportableError } from "../../lib/errors.ts";
import { printableLine } from "../../lib/printable.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { RowFault } from "../contract/json.ts";
import {
  type LoanToValue,
  type LoanToValueOperation,
  loanToValue,
  readLoanToValue,
  unifiedLoanToValue,
} from "../contract/loan-to-value.ts";
import type { LeasedAccount, Store } from "../store/ledger-store.ts";
import {
  commitLoanToValue,
  type LoanToValueChange,
} from "../store/reference/stored-loan-to-value.ts";
import type { AccountMode } from "../words/account-state.ts";
import { failureScope } from "./failure-scope.ts";
import type { AccountDeps } from "./ledger-run.ts";

type LoanToValueDeps = Pick<AccountDeps, "client" | "signal" | "onFailure"> & {
  readonly leased: Pick<LeasedAccount, "assertHeld"> & { readonly store: Pick<Store, "write"> };
};

/** The result of syncing one risk unit. */
export type LoanToValueReport = {
  readonly account: string;
  /** The risk unit that was asked for; undefined for the account's own. */
  readonly riskUnitId: string | undefined;
  readonly stored:
    | {
        readonly record: LoanToValue;
        readonly readAt: EpochMs;
        readonly change: LoanToValueChange;
      }
    | undefined;
  readonly error: unknown;
};

/** The codes with which the exchange says that an account has no loan. */
const noLoanCodes: readonly (string | undefined)[] = ["40054", "25559"];

/** The risk units that are asked for, one request each; undefined is the account's own. */
const riskUnitsOf = (ids: readonly string[]): readonly (string | undefined)[] =>
  ids.length === 0 ? [undefined] : ids;

/**
 * Stores the record of each risk unit. A unit that fails does not stop the others, and its report has the
 * error. After an error that concerns the whole account, the remaining units are not asked for.
 */
export async function syncLoanToValue(
  deps: LoanToValueDeps,
  mode: AccountMode,
  account: string,
  riskUnitIds: readonly string[],
): Promise<readonly LoanToValueReport[]> {
  const operation = mode === "classic" ? loanToValue : unifiedLoanToValue;
  const reports: LoanToValueReport[] = [];
  for (const riskUnitId of riskUnitsOf(riskUnitIds)) {
    const last = reports.at(-1)?.error;
    const isEnded = last !== undefined && endsAccount(last);
    reports.push(
      isEnded
        ? { account, riskUnitId, stored: undefined, error: last }
        : await syncRiskUnit(deps, operation, account, riskUnitId),
    );
  }
  return reports;
}

/** Whether the next risk unit would fail in the same way. */
const endsAccount = (error: unknown): boolean =>
  error instanceof ExchangeError
    ? failureScope(error) === "account"
    : !(error instanceof BrokenRecordError);

async function syncRiskUnit(
  { client, leased, signal, onFailure }: LoanToValueDeps,
  operation: LoanToValueOperation,
  account: string,
  riskUnitId: string | undefined,
): Promise<LoanToValueReport> {
  try {
    const { data, requestTime } = await client.ask(
      operation,
      riskUnitId === undefined ? {} : { riskUnitId },
      {
        signal,
        beforeSend: leased.assertHeld,
        onAttempt: (failure) => {
          if (failure !== undefined && !noLoanCodes.includes(failure.code)) onFailure(failure);
        },
      },
    );
    const reading = readLoanToValue(data);
    if ("fault" in reading) throw new BrokenRecordError(reading.fault);
    const commit = { account, riskUnitId, readAt: requestTime, record: reading.record };
    const change = await leased.store.write((tx) => commitLoanToValue(tx, commit));
    return { account, riskUnitId, stored: { ...commit, change }, error: undefined };
  } catch (error) {
    const isWithoutLoan = error instanceof ExchangeError && noLoanCodes.includes(error.code);
    return {
      ...{ account, riskUnitId, stored: undefined },
      error: isWithoutLoan ? undefined : withRemedy(error),
    };
  }
}

/** A record that cannot be stored as it is. */
class BrokenRecordError extends ReportableError {
  override name = "BrokenRecordError";

  constructor({ path, reason }: RowFault) {
    const place = ["data", path].filter((part) => part !== "").join(".");
    super(
      "the loan-to-value record broke the API's contract and was not stored: " +
        printableLine(`${place} ${reason}`),
    );
  }
}

const remedy =
  "for loan-to-value, a parent account needs RISK_UNIT_IDS, a risk unit's own account goes " +
  "without, and an account without an institutional loan leaves SYNC_LTV out";

/** Adds the remedy to refusals that may mean that the account has no such loan. */
function withRemedy(error: unknown): unknown {
  const isAboutLoan = error instanceof ExchangeError && aboutLoans.includes(error.kind);
  if (!isAboutLoan) return error;
  return new ExchangeError(error.kind, `${error.message}; ${remedy}`, {
    ...(error.code === undefined ? {} : { code: error.code }),
    cause: error,
  });
}

const aboutLoans: readonly ExchangeErrorKind[] = [
  "refused-permission",
  "refused-request",
  "unknown-code",
];
