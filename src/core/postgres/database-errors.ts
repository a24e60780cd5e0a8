import { DrizzleQueryError } from "drizzle-orm/errors";
import pg from "pg";
import {
  DatabaseError,
  DatabaseSilentError,
  errorCode,
  messageOf,
  ReportableError,
} from "../../lib/errors.ts";
import { openFilesRemedy } from "../../lib/open-files.ts";

const serverIsLost = "the connection to the server was lost; run again";
const serverIsSilent = "the server does not answer; check the network and DATABASE_URL";
const isUnanswered = "a statement was not answered; look for locks on the server";
const isLocked =
  "another session holds a lock; find it by pg_blocking_pids in pg_stat_activity, let it end, and " +
  "run again";
const isForeign =
  "the database holds tables that are not this program's or were half restored; use an empty " +
  "database, or remove them";
const isRefusing =
  "if the column, constraint, index or trigger that refuses the row is not this program's, drop it, or give the " +
  "column a default, and run again";
const isOtherSchema =
  "its tables are of an older version, not this program's, or half restored; run bill-sync db migrate, " +
  "or restore a whole backup into an empty database";

const isFiltered =
  "row-level security hides rows of that table from this user; let the table's owner run alter table NAME disable " +
  "row level security, or let this user see all rows (alter role NAME bypassrls)";
const limitOf = (name: string) =>
  `this user's ${name} ended it; raise it (alter role NAME set ${name} = 0) and run again`;

/** Failures that are not tried again, since another try would wait as long. */
const silences = [serverIsSilent, isUnanswered, isLocked];

export const readOnlyRemedy =
  "DATABASE_URL names a server or a user that may not write (a replica, or a user with " +
  "default_transaction_read_only); name the primary, and a user who writes";

export const rightRemedy =
  "run it with the address of a user who has it, or, after an update, let the owner of the tables run the grants " +
  "again that docs/operations.md lists under Roles";

/** Remedies by SQLSTATE, or by the operating system's name of a failed connection. */
const remedies: Readonly<Record<string, string>> = {
  "08P01":
    "if a pooler refuses it, let it pool transactions, or name the server itself in DATABASE_URL",
  "23502": isRefusing,
  "23503": isRefusing,
  "23505": isRefusing,
  "23514": isRefusing,
  P0001: isRefusing,
  "25006": readOnlyRemedy,
  "25P04": limitOf("transaction_timeout"),
  "25P03": "this program was frozen during a transaction, which was undone; run again",
  "28000": "check the user in DATABASE_URL and the server's pg_hba.conf",
  "28P01": "check the user and the password in DATABASE_URL",
  "2BP01": "drop these objects, run bill-sync db migrate, and create them again",
  "3D000": "create the database, or correct its name in DATABASE_URL",
  "40001": "another session was in the way; run again",
  "40P01": "another session was in the way; run again",
  "42501": `this user lacks a right; ${rightRemedy}`,
  "42701": isForeign,
  "42703": isOtherSchema,
  "42710": isForeign,
  "42P01": isOtherSchema,
  "3F000": isOtherSchema,
  "42P10": isOtherSchema,
  "42P06": isForeign,
  "42P07": isForeign,
  "53100":
    "the server's disk is full, or a container's shared memory (docker run --shm-size=1g raises it); free some " +
    "space and run again",
  "53200": "the server is out of memory; run again when it has some",
  "53400": "a limit of the server was reached; raise it (temp_file_limit, say) and run again",
  "53300": "the server has no connection left; raise the limit, or close some and run again",
  "55P03": isLocked,
  "57014": "the statement took too long; look for locks on the server and run again",
  "57P01": "the server was shut down; run again when it is up",
  "57P02": "the server crashed; run again when it is up",
  "57P05": limitOf("idle_session_timeout"),
  "57P03": "the server is starting up or shutting down; run again in a moment",
  EAI_AGAIN: "the host's name cannot be looked up now; check the network",
  ECONNREFUSED: "start the server, or correct host and port in DATABASE_URL",
  ECONNRESET: serverIsLost,
  EMFILE: openFilesRemedy,
  ENFILE: openFilesRemedy,
  EHOSTUNREACH: serverIsSilent,
  ENETUNREACH: serverIsSilent,
  ENOTFOUND: "correct the host in DATABASE_URL",
  EPIPE: serverIsLost,
  ERR_TLS_CERT_ALTNAME_INVALID:
    "name the host in DATABASE_URL as its certificate does, or turn the check off by sslmode=no-verify",
  CERT_HAS_EXPIRED: "renew the server's certificate, and check this machine's clock",
  ETIMEDOUT: serverIsSilent,
};

const isTlsCode = /CERT|^UNABLE_TO_|^ERR_(?:TLS|SSL)_|^EPROTO$/;
const tlsRemedy =
  "the server's certificate is not trusted; name its authority by sslrootcert=FILE in " +
  "DATABASE_URL, or turn the check off by sslmode=no-verify";

// What OpenSSL says of a certificate or key that it is given.
const isOfFile = /^ERR_OSSL_/;
const fileRemedy =
  "a file that DATABASE_URL names by sslcert, sslkey or sslrootcert cannot be used; correct it";

/** Remedies for the driver's errors that have a message but no code. */
const spoken: readonly (readonly [RegExp, string])[] = [
  [/^connect (?:ENOENT|EACCES)/, "start the server, or correct its socket's path in DATABASE_URL"],
  [
    /asks for the password in clear text/,
    "let it use scram-sha-256 for this user (pg_hba.conf), or connect with TLS by " +
      "sslmode=verify-full in DATABASE_URL",
  ],
  [/client password must be a string/i, "put the user's password into DATABASE_URL"],
  [
    /does not support SSL|establishing an SSL/i,
    "turn TLS on at the server, or connect without it by sslmode=disable in DATABASE_URL",
  ],
  [/connection timeout|timeout expired|timeout exceeded when trying to connect/i, serverIsSilent],
  [
    /File too large|quota exceeded/i,
    "a file of the server may not grow; raise its limit or quota there and run again",
  ],
  [/Query read timeout/, isUnanswered],
  [/connection terminated|not queryable/i, serverIsLost],
];

/** Remedies for servers that this process has started itself and that have ended, by their sockets. */
export const remedyOfEnded = new Map<unknown, string>();

/** Turns a failure of the database into a {@link DatabaseError} with a remedy; returns others as they are. */
export function explained(error: unknown): unknown {
  if (error instanceof ReportableError) return error;
  const cause = error instanceof DrizzleQueryError ? error.cause : error;
  const isServers = cause instanceof pg.DatabaseError;
  const code = firstCode(cause);
  const message = messageOf(cause);
  const remedy = remedyOfOwn(cause) ?? remedyOf(code, message);
  // The cause, because Drizzle's own message is the statement with all its values.
  if (remedy === undefined && !isServers) return cause;
  // Of this code, the detail names what depends. Those of others have values.
  const detail = isServers && code === "2BP01" ? `: ${cause.detail?.replaceAll("\n", "; ")}` : "";
  const what = isServers ? `${message}${detail}, ${code}` : message;
  const tail = remedy === undefined ? "" : `: ${remedy}`;
  // Told apart by its message: a statement that somebody cancelled has the same code, and may be retried. In
  // another language than English it counts as overdue.
  const isOverdue = code === "57014" && !/user request/.test(message);
  const isSilent = isOverdue || silences.some((silence) => silence === remedy);
  return new (isSilent ? DatabaseSilentError : DatabaseError)(
    `the database failed (${what})${tail}; what was committed is kept`,
    { cause },
  );
}

function remedyOfOwn(error: unknown): string | undefined {
  // The server's message names the table.
  if (error instanceof pg.DatabaseError && rowSecurity.includes(error.routine ?? ""))
    return isFiltered;
  return error instanceof Error &&
    "address" in error &&
    ["ECONNREFUSED", "ENOENT"].includes(errorCode(error) ?? "")
    ? remedyOfEnded.get(error.address)
    : undefined;
}

/** The server's functions that refuse because of row-level security, with the code of any missing right. */
const rowSecurity = ["check_enable_rls", "ExecWithCheckOptions"];

function remedyOf(code: string | undefined, message: string): string | undefined {
  const known = code === undefined ? undefined : remedies[code];
  if (known !== undefined) return known;
  if (code !== undefined && isTlsCode.test(code)) return tlsRemedy;
  if (code !== undefined && isOfFile.test(code)) return fileRemedy;
  return spoken.find(([pattern]) => pattern.test(message))?.[1];
}

/** Where no address of a host could be reached, the code of the first one's failure. */
const firstCode = (error: unknown): string | undefined =>
  error instanceof AggregateError ? firstCode(error.errors[0]) : errorCode(error);

/** The SQLSTATE of a failure, as Drizzle or {@link explained} wraps it. */
export const sqlStateOf = (error: unknown): string | undefined =>
  firstCode(
    error instanceof DrizzleQueryError || error instanceof DatabaseError ? error.cause : error,
  );

/** Whether the work failed because this user lacks a right, or this server is read-only. */
export const lacksRight = (error: unknown): boolean =>
  ["42501", "25006"].includes(sqlStateOf(error) ?? "");

/** Runs database work, and throws its failures as {@link explained} returns them. */
export async function withDatabaseErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explained(error);
  }
}
