import { setTimeout as delay } from "node:timers/promises";
import { TLSSocket } from "node:tls";
import { DrizzleQueryError } from "drizzle-orm/errors";
import PQueue from "p-queue";
import pg from "pg";
import { DatabaseError, messageOf } from "../../lib/errors.ts";
import { patientSocket } from "../../lib/patiently.ts";
import { minuteMs, secondMs } from "../../lib/time.ts";
import { explained, withDatabaseErrors } from "./database-errors.ts";

/** How long a new connection may take. */
export const connectMaxMs = 10 * secondMs;

/**
 * As many connections as 60 accounts need at 300 ms of round trip. More would not help a thin line:
 * where nine share 24 kB/s, a page of 100 bills takes each of them 7 s.
 */
const connectionsMax = 10;

// A connection that was just closed counts at the server until its process has ended.
const refusedPauseMs = 250;
const tooManyConnections = "53300";
const transactionIsAborted = "25P02";

const clearTextRefusal =
  "the server asks for the password in clear text, and the connection has no TLS";

/**
 * A client that sends its password in clear text through TLS only. The driver sends it to whoever asks:
 * without TLS, that may be any program which listens at the address.
 */
export class GuardedClient extends pg.Client {
  /** The server's major version, which it tells when it is connected to. */
  serverVersion = 0;

  constructor(config?: pg.ClientConfig) {
    super(config);
    const connection = connectionOf(this);
    // Before the client's own listener, which then writes to a closed connection.
    connection.prependListener("authenticationCleartextPassword", () => {
      const { stream } = connection;
      if (!(stream instanceof TLSSocket)) stream.destroy(new Error(clearTextRefusal));
    });
    connection.on("parameterStatus", ({ parameterName, parameterValue }: ParameterStatus) => {
      if (parameterName === "server_version")
        this.serverVersion = Number.parseInt(parameterValue, 10);
    });
  }
}

/** The driver's message. Its types do not have it. */
type ParameterStatus = { readonly parameterName: string; readonly parameterValue: string };

/** The major version of the server that a client is connected to. */
export const serverVersionOf = (client: pg.PoolClient): number =>
  client instanceof GuardedClient ? client.serverVersion : 0;

type Checkout = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  done: pg.PoolClient["release"],
) => void;

/**
 * A pool that makes do with the connections it gets. A role, a server or a pooler may refuse another
 * one, and one is enough. Callers queue here without a time limit of their own: each statement ahead
 * of them has one. Where there are two connections or more, one is kept for urgent work.
 */
export class Connections extends pg.Pool {
  /** Holds one task for each client that is lent out. */
  readonly #lent = new PQueue({ concurrency: connectionsMax - 1 });
  /** Connections at work. The pool's own count includes those that are still being opened. */
  #atWork = 0;

  constructor(config: pg.PoolConfig) {
    const limits = { max: connectionsMax, connectionTimeoutMillis: connectMaxMs };
    super({ ...config, ...limits, Client: GuardedClient });
    this.on("acquire", () => {
      this.#atWork++;
    });
    this.on("release", () => {
      this.#atWork--;
    });
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Checkout): void;
  override connect(callback?: Checkout): Promise<pg.PoolClient> {
    const { promise, resolve, reject } = Promise.withResolvers<pg.PoolClient>();
    void this.#lent.add(async () => {
      try {
        const client = await this.connectFirst();
        const returned = Promise.withResolvers<void>();
        const { release } = client;
        client.release = (end) => {
          release(end);
          returned.resolve();
        };
        resolve(client);
        await returned.promise;
      } catch (error) {
        reject(error);
      }
    });
    if (callback !== undefined) {
      promise.then(
        (client) => callback(undefined, client, client.release),
        (error: Error) => callback(error, undefined, () => undefined),
      );
    }
    return promise;
  }

  /** Lends a client ahead of the queue; where there is only one connection, as the next in it. */
  async connectFirst(): Promise<pg.PoolClient> {
    const askedAt = performance.now();
    for (;;) {
      try {
        return await super.connect();
      } catch (error) {
        // A connection that is at work will come back, so waiting ends. Where none is at work, the
        // server is silent, and waiting would never end.
        if (this.#atWork > 0 && isForWantOfConnections(error)) {
          this.options.max = this.totalCount;
          this.#lent.concurrency = Math.max(1, this.totalCount - 1);
        } else if (!isOutOfConnections(error) || performance.now() - askedAt > connectMaxMs) {
          throw error;
        }
      }
      await delay(refusedPauseMs);
    }
  }
}

/** Whether the role, the database or the server has reached its limit of connections. */
const isOutOfConnections = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === tooManyConnections;

/** A pooler in session mode does not refuse: it keeps the next connection waiting until one ends. */
const isForWantOfConnections = (error: unknown): boolean =>
  isOutOfConnections(error) ||
  (error instanceof Error &&
    /connection timeout|timeout exceeded when trying to connect/.test(error.message));

export const usualStatementMaxMs = 2 * minuteMs;

/** How long a statement may take. Default two minutes. */
export type StatementLimit = { readonly statementMaxMs?: number };

/** @throws DatabaseError where the URL cannot be used: it names a certificate file that is missing, say. */
export function openPool(
  url: string,
  { statementMaxMs = usualStatementMaxMs }: StatementLimit = {},
): Connections {
  const config: pg.PoolConfig = {
    connectionString: withVerifiedTls(url),
    // Enforced by the client, because a pooler in transaction mode refuses statement_timeout as a
    // start-up parameter. Longer than the server's limit in a transaction, which then fires first: where a
    // transaction raises that limit, it raises this one for as long as it runs.
    query_timeout: statementMaxMs + connectMaxMs,
    application_name: "bill-sync",
    stream: patientSocket,
    keepAlive: true,
    // The URL may override it. PGSSLNEGOTIATION=direct must not, since it rules out sslmode=disable.
    sslnegotiation: "postgres",
  };
  try {
    // Reads the URL and the files that it names.
    new pg.Client(config);
  } catch (cause) {
    throw new DatabaseError(`DATABASE_URL cannot be used (${messageOf(cause)}); correct it`, {
      cause,
    });
  }
  const pool = new Connections(config);
  // Not enumerable, so that printing the pool, or an error that holds it, does not print the password.
  Object.defineProperty(pool.options, "connectionString", { enumerable: false });
  // Without a listener, a connection that breaks between two statements would end the process.
  // Ignored here: the next statement gets a new connection, or the error.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

/**
 * Asks for `verify-full` where the driver takes the URL's mode for it anyway, with a warning on stderr.
 * `sslmode=no-verify` or `uselibpqcompat=true` ask for less.
 */
const withVerifiedTls = (url: string): string =>
  url.includes("uselibpqcompat=true")
    ? url
    : url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, "$1verify-full");

type LentOptions = StatementLimit & { readonly isPipelined?: boolean };

/** Does work with a connection, and closes it where the work fails. Failures are {@link explained}. */
export async function withConnection<T>(
  connecting: Promise<pg.PoolClient>,
  { isPipelined = true, statementMaxMs = 0 }: LentOptions,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await withDatabaseErrors(() => connecting);
  const connection = connectionOf(client);
  let cause: pg.DatabaseError | undefined;
  const onFailure = (failure: pg.DatabaseError) => {
    if (failure.code !== transactionIsAborted) cause = failure;
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
    throw explained(isConsequence(error) ? (cause ?? error) : error);
  } finally {
    connection.off("errorMessage", onFailure);
  }
}

/**
 * Whether a statement failed because an earlier one of its transaction had, or because its connection had
 * ended. A server that ends a connection says why, to no statement where none is under way.
 */
function isConsequence(error: unknown): boolean {
  const cause = error instanceof DrizzleQueryError ? error.cause : error;
  return cause instanceof pg.DatabaseError
    ? cause.code === transactionIsAborted
    : cause instanceof Error && /connection terminated|not queryable/i.test(cause.message);
}

/*
 * With these codes a server may have ended the session, and the work of a COMMIT stand. Only its severity, which is in the
 * language of the server's messages, would tell more.
 */
const mayEndSession = /^(?:08|53|57P|58|XX)|^25P0[34]/;

/** Whether the server itself says that a statement failed, and goes on. */
export const isRefused = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code !== undefined && !mayEndSession.test(error.code);

export const isCommit = ({ command }: pg.QueryResult): boolean => command === "COMMIT";

/** The server answers ROLLBACK where a statement failed and the work went on regardless. */
export function assertCommitted(answer: pg.QueryResult): void {
  if (!isCommit(answer)) throw new Error(`defect: the commit ended in ${answer.command}`);
}

/** Whether connections lead straight to the server, and keep their process: a pooler announces one of its own. */
export async function isDirect(pool: pg.Pool): Promise<boolean> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    return "processID" in client && client.processID === rows[0]?.pid;
  } finally {
    client.release();
  }
}

// What the driver has, and its types lack.

/** Call it while no statement is under way. The driver's types allow it only as an option of the pool. */
const pipeline = (client: pg.PoolClient, isPipelined: boolean): void =>
  void Object.assign(client, { pipeline: isPipelined });

/** The driver's connection of a client. Its types have it on a class that they do not export. */
export function connectionOf(client: pg.ClientBase): pg.Connection {
  if ("connection" in client && client.connection instanceof pg.Connection)
    return client.connection;
  throw new Error("defect: the driver keeps its connection elsewhere");
}

/** Where the driver looks, with each statement, for how long to wait. Its types do not have it. */
function limitsOf(client: pg.PoolClient): { query_timeout?: unknown } {
  if ("connectionParameters" in client && client.connectionParameters instanceof Object)
    return client.connectionParameters;
  throw new Error("defect: the driver keeps its limits elsewhere");
}
