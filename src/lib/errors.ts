import { withShortWords } from "./printable.ts";

/** The kinds of errors in JSON. */
export const errorKinds = [
  "usage",
  "held",
  "stopped",
  "database",
  "exchange",
  "failed",
  "defect",
] as const;
type ErrorKind = (typeof errorKinds)[number];

/**
 * The failures that a reader can do something about. Each message says what happened and
 * what to do next; anything else that is thrown is a defect of this program.
 */
export class ReportableError extends Error {
  override name: string;
  readonly kindInJson: ErrorKind = "failed";
  /** 2 and 3 tell the caller what would help. */
  readonly exitCode: 1 | 2 | 3 = 1;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Wrong usage or configuration: nothing of the account or the run was started. Exit code 2. */
export class UsageError extends ReportableError {
  override readonly kindInJson = "usage";
  override readonly exitCode = 2;
  /** One line each. */
  readonly faults: readonly string[];

  constructor(message: string, faults: readonly string[] = [message]) {
    super(withShortWords(message));
    this.faults = faults.map(withShortWords);
  }
}

/** Another run holds the account. Exit code 3. */
export class AccountHeldError extends ReportableError {
  override readonly kindInJson = "held";
  override readonly exitCode = 3;
}

/**
 * The account is neither classic nor unified, but on its way from one to the other: what the exchange
 * serves of it meanwhile is not to be trusted.
 */
export class AccountInTransitError extends ReportableError {
  constructor(account: string, why: string) {
    super(
      `account ${account} is changing between classic and unified (${withShortWords(why)}): ` +
        "nothing of it was read or written; run again in a few minutes",
    );
  }
}

/** This run lost its account to another one and must not write any more. */
export class LeaseLostError extends ReportableError {}

/** The database cannot be reached, is of another version, or refused a statement. */
export class DatabaseError extends ReportableError {
  override readonly kindInJson = "database";
}

/** The database's server does not answer: another try would wait as long again. */
export class DatabaseSilentError extends DatabaseError {}

/**
 * The database is not where it had confirmed to be: it crashed with synchronous_commit off, or
 * a replica that was behind took over. Going on would leave a hole.
 */
export const commitsLost = (place: string): DatabaseError =>
  new DatabaseError(
    `the database lost confirmed commits of ${place}: it crashed with synchronous_commit ` +
      "off, was restored, or a lagging replica took over; run sync again, which reads the " +
      "lost time again",
  );

/** No question leads on through a window's pages: going on would never end, or skip bills. */
export class CursorError extends ReportableError {}

/** The exchange's answers contradict each other, however often it was asked. */
export class ContradictionError extends ReportableError {}

/** The user asked the run to stop. */
export class StoppedError extends ReportableError {
  override readonly kindInJson = "stopped";
}

/** What the caller does next decides the kind. */
export type ExchangeErrorKind =
  /** Stop: the key, its signature, passphrase or address, or the account itself, is refused. */
  | "refused-credentials"
  /** Ask the other API: an account is classic or unified, and each API serves one of the two alone. */
  | "other-mode"
  /** Stop, all accounts: something before the exchange refuses this machine's address. */
  | "banned"
  /** Stop asking for this: the key has no right to it. Other things may still be allowed. */
  | "refused-permission"
  /** Stop: the request is wrong, which is a defect of this program or a change of the API. */
  | "refused-request"
  /** Ask for a shorter or later period. */
  | "time-range"
  /** Set the clock by the answer's, then retry. */
  | "clock"
  /** Slow down, then retry. */
  | "rate-limited"
  /** Retry later. */
  | "unavailable"
  /** The answer broke the contract; retry, it may have been cut off on its way. */
  | "malformed"
  /** A code that no source names; retry a few times. */
  | "unknown-code";

export class ExchangeError extends ReportableError {
  override readonly kindInJson = "exchange";
  override readonly exitCode: 1 | 2;
  readonly kind: ExchangeErrorKind;
  /** The exchange's code, or `HTTP nnn` where the answer had none. */
  readonly code: string | undefined;
  /** The wait that a Retry-After header asked for. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: ExchangeErrorKind,
    message: string,
    details: { code?: string; retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.exitCode = kind === "refused-credentials" ? 2 : 1;
    this.code = details.code;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Whether the exchange refuses this request, and not the key. */
export const isRefused = (error: unknown): error is ExchangeError =>
  error instanceof ExchangeError &&
  (error.kind === "refused-permission" || error.kind === "refused-request");

/** Whether another try would fail, too: a refused request is refused again, and a wrong configuration stays wrong. */
export const isPermanent = (error: unknown): boolean =>
  error instanceof UsageError || (error instanceof ExchangeError && /^refused-/.test(error.kind));

/** The first error: a scope that then failed to close hides it in a SuppressedError. */
export function firstThrown(error: unknown): unknown {
  return error instanceof SuppressedError ? firstThrown(error.suppressed) : error;
}

/** The message of whatever was thrown, for a person; never empty. */
export function messageOf(thrown: unknown): string {
  const error = firstThrown(thrown);
  if (!(error instanceof Error)) return String(error);
  // Node connects to each address of a host, and says only in the parts why none answered.
  if (error instanceof AggregateError && error.errors.length > 0) {
    const parts = new Set(error.errors.map(messageOf));
    return [error.message, [...parts].join("; ")].filter((text) => text !== "").join(": ");
  }
  return error.message === "" ? error.name : error.message;
}

/** The code of a failure: the system's, such as ENOENT, a library's, or Postgres's. */
export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;

/** The code of a failure, for a person. */
export const shownCode = (error: unknown): string => errorCode(error) ?? "for an unknown reason";
