import { DrizzleQueryError } from "drizzle-orm/errors";
import pg from "pg";
import { connectMaxMs } from "./connections.ts";
import { connectionOf, limitsOf, pipeline } from "./driver.ts";

type LentOptions = { readonly isPipelined?: boolean; readonly statementMaxMs?: number };

/** Lends a connection to the work, and closes it where the work fails. */
export async function lent<T>(
  connecting: Promise<pg.PoolClient>,
  { isPipelined = true, statementMaxMs = 0 }: LentOptions,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await connecting;
  const connection = connectionOf(client);
  let first: unknown;
  let lastWords: unknown;
  const onFailure = (failure: pg.DatabaseError) => {
    first ??= failure;
    if (failure.severity === "FATAL") lastWords = failure;
  };
  connection.on("errorMessage", onFailure);
  pipeline(client, isPipelined);
  const limits = limitsOf(client);
  const usual = limits.query_timeout;
  // Text comes from the URL: a limit of the user's, which stays.
  if (typeof usual === "number")
    limits.query_timeout = Math.max(usual, statementMaxMs + connectMaxMs);
  try {
    const result = await work(client);
    pipeline(client, false);
    limits.query_timeout = usual;
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    // Statements sent after a failed one fail too, and their error may be the first to be caught here.
    if (isAborted(error)) throw first;
    // A server that ends a connection says why, to no statement where none is under way.
    throw isEnded(error) ? (lastWords ?? error) : error;
  } finally {
    connection.off("errorMessage", onFailure);
  }
}

/** Whether a statement failed because an earlier one of its transaction had. */
function isAborted(error: unknown): boolean {
  const cause = error instanceof DrizzleQueryError ? error.cause : error;
  return cause instanceof pg.DatabaseError && cause.code === "25P02";
}

/** Whether a statement failed because its connection had ended: the error is then the driver's own. */
function isEnded(error: unknown): boolean {
  const cause = error instanceof DrizzleQueryError ? error.cause : error;
  return cause instanceof Error && /connection terminated|not queryable/i.test(cause.message);
}

/** Whether the server itself says that a statement failed, and goes on. */
export const isRefused = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.severity === "ERROR";

/** The connection, for as long as statements may be sent: a later one would run outside of its transaction. */
export function refusingLater(client: pg.PoolClient, isOver: () => boolean): pg.PoolClient {
  return new Proxy(client, {
    get: (target, name) => {
      if (name === "query" && isOver()) throw new Error("defect: a statement came after COMMIT");
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

export const isCommit = ({ command }: pg.QueryResult): boolean => command === "COMMIT";

/** The server answers ROLLBACK where a statement failed and the work went on regardless. */
export function assertCommitted(answer: pg.QueryResult): void {
  if (!isCommit(answer)) throw new Error(`defect: the commit ended in ${answer.command}`);
}
