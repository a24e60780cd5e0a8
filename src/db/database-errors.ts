import { DrizzleQueryError } from "drizzle-orm/errors";
import { DatabaseError, messageOf, ReportableError } from "../errors.ts";

/** Remedies by SQLSTATE, or by the operating system's name of a failed connection. */
const remedies: Readonly<Record<string, string>> = {
  "28P01": "check the user and the password in DATABASE_URL",
  "28000": "check the user in DATABASE_URL and the server's pg_hba.conf",
  "3D000": "create the database, or correct its name in DATABASE_URL",
  "42501": "grant this user the right to create and write tables in schema public",
  "25006": "the server is read-only; point DATABASE_URL at the primary",
  "53100": "the server's disk is full; free some space and run again",
  "53200": "the server is out of memory; run again when it has some",
  "53300": "the server has no connection left; raise max_connections or close some",
  "57014": "the statement took too long; look for locks on the server and run again",
  "57P01": "the server was shut down; run again when it is up",
  "57P02": "the server crashed; run again when it is up",
  "57P03": "the server is starting up or shutting down; run again in a moment",
  ECONNREFUSED: "start the server, or correct host and port in DATABASE_URL",
  ECONNRESET: "the connection broke; run again",
  ENOTFOUND: "correct the host in DATABASE_URL",
  EAI_AGAIN: "the host's name cannot be looked up now; check the network",
  ETIMEDOUT: "the server does not answer; check the network and DATABASE_URL",
};

const connectionLost =
  /connection terminated|timeout exceeded when trying to connect|not queryable/i;

/** The error as a {@link DatabaseError} with a remedy where the database is at fault, else as it is. */
export function explained(error: unknown): unknown {
  if (error instanceof ReportableError) return error;
  const cause = error instanceof DrizzleQueryError ? error.cause : error;
  const message = messageOf(cause);
  const code = codeOf(cause);
  const known = code === undefined ? undefined : remedies[code];
  const remedy =
    known ??
    (connectionLost.test(message) ? "the connection to the server was lost; run again" : "");
  const isDatabase = remedy !== "" || (code !== undefined && /^[0-9A-Z]{5}$/.test(code));
  if (!isDatabase) return error;
  const tail = remedy === "" ? "" : `: ${remedy}`;
  return new DatabaseError(
    `the database failed (${message}${code === undefined ? "" : `, ${code}`})${tail}; ` +
      "what was committed before is kept",
    { cause },
  );
}

function codeOf(error: unknown): string | undefined {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}

/** Runs database work; its failures come out explained. */
export async function withDatabaseErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explained(error);
  }
}
