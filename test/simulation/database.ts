import { drizzle } from "drizzle-orm/node-postgres";
import type pg from "pg";
import { type EpochMs, isoTime } from "../../src/contract/time.ts";
import type { Database } from "../../src/db/connect.ts";
import type { VirtualClock } from "../support/virtual-clock.ts";
import type { DatabaseFault } from "./history.ts";
import type { SimulatedProcess } from "./process.ts";

export type ProcessDatabaseOptions = {
  /** Real connections to a real server. */
  readonly pool: pg.Pool;
  readonly io: SerialIo;
  /** The connections of all processes. */
  readonly transactions: OpenTransactions;
  readonly process: SimulatedProcess;
  /** The server's clock. */
  readonly now: () => EpochMs;
  readonly faults: readonly DatabaseFault[];
  readonly onFault: (fault: DatabaseFault) => void;
  /** May look at what a transaction has written, before it is committed. */
  readonly beforeCommit?: (client: pg.PoolClient) => Promise<void>;
  /**
   * Called when the server has committed, even if the client never hears of it, with the values of
   * the transaction's statements by their texts.
   */
  readonly onCommit: (statements: Statements) => void;
  /** May look at the tables after the commit, before anybody writes again. */
  readonly afterCommit?: (statements: Statements) => Promise<void>;
};

/** The text and the values of each statement of a transaction, in order. */
export type Statements = readonly (readonly unknown[])[];

/**
 * Runs real I/O sequentially while the simulated time stands still, so that its order is always the
 * same.
 */
export type SerialIo = <T>(io: () => Promise<T>) => Promise<T>;

export function serialIo(time: VirtualClock): SerialIo {
  let last: Promise<unknown> = Promise.resolve();
  return (io) =>
    time.hold(() => {
      const done = last.then(io);
      last = done.catch(() => undefined);
      return done;
    });
}

/**
 * The transactions in progress at the server. A statement that waited for a lock of one would block
 * all I/O, including that of the transaction. So each statement waits here until there is none.
 */
export class OpenTransactions {
  readonly #sessions = new Set<object>();
  #ended = Promise.withResolvers<void>();

  has(session: object): boolean {
    return this.#sessions.has(session);
  }

  /**
   * Resolves when no other session is in a transaction. If it `begins` a transaction, this session
   * is in one then.
   */
  async turnOf(session: object, begins: boolean): Promise<void> {
    while (!this.has(session) && this.#sessions.size > 0) await this.#ended.promise;
    if (begins) this.#sessions.add(session);
  }

  end(session: object): void {
    if (!this.#sessions.delete(session)) return;
    this.#ended.resolve();
    this.#ended = Promise.withResolvers();
  }
}

/** The statement, as drizzle passes it on. */
type Statement = string | pg.QueryConfig | pg.Submittable;

/**
 * A process's connections: those of a real pool, cut and failing as the history says.
 * `clock_timestamp()` and `statement_timestamp()` are replaced by the simulated time.
 */
export class ProcessDatabase {
  readonly #options: ProcessDatabaseOptions;
  readonly #sessions = new Set<Session>();
  #statements = 0;
  #commits = 0;

  constructor(options: ProcessDatabaseOptions) {
    this.#options = options;
    // The operating system closes what a killed process had open.
    void options.process.died.then(() => options.io(async () => this.closeAll()));
  }

  /** The pool, as the program sees it. */
  asDatabase(): Database {
    // The program calls only these two methods of a pool.
    return drizzle(this as unknown as pg.Pool) as Database;
  }

  /** The server closes the sessions of a process that is gone. */
  closeAll(): void {
    for (const session of this.#sessions) session.release(true);
  }

  /** The server closes sessions that have been idle in a transaction for too long. */
  closeIdle(): void {
    const { transactions } = this.#options;
    for (const session of this.#sessions) if (transactions.has(session)) session.release(true);
  }

  async connect(): Promise<Session> {
    const { io, pool, process } = this.#options;
    return io(async () => {
      if (process.isDead()) throw connectionLost();
      const session = new Session(await pool.connect(), this);
      this.#sessions.add(session);
      return session;
    });
  }

  async query(statement: Statement, values?: unknown[]): Promise<pg.QueryResult | undefined> {
    const session = await this.connect();
    try {
      return await session.query(statement, values);
    } finally {
      session.release();
    }
  }

  forget(session: Session): void {
    this.#sessions.delete(session);
    this.#endTransaction(session);
  }

  /** Sends one statement, unless a fault replaces it. */
  send(session: Session, client: pg.PoolClient, statement: Statement, values?: unknown[]) {
    const { io, process, now, transactions, beforeCommit, onCommit, afterCommit } = this.#options;
    const text = textOf(statement);
    const isCommit = text === "commit";
    const fault = this.#faultAt(isCommit);
    return process.effect(async () => {
      await transactions.turnOf(session, text.trimStart().startsWith("begin"));
      return io(async () => {
        if (process.isDead() || session.isClosed) {
          // It may have come to its turn after its process died.
          transactions.end(session);
          throw connectionLost();
        }
        if (fault?.kind === "cut-before") throw cut(session);
        if (fault?.kind === "fails") await client.query(failing);
        if (isCommit) await beforeCommit?.(client);
        const result = await sendTo(client, statement, values, now());
        session.statements.push([text, ...(values ?? [])]);
        const { statements } = session;
        if (isCommit && result?.command === "COMMIT") {
          onCommit(statements);
          await afterCommit?.(statements);
        }
        if (isCommit) this.#endTransaction(session);
        if (fault?.kind === "cut-after") throw cut(session);
        return result;
      });
    });
  }

  #endTransaction(session: Session): void {
    session.statements = [];
    this.#options.transactions.end(session);
  }

  #faultAt(isCommit: boolean): DatabaseFault | undefined {
    this.#statements += 1;
    if (isCommit) this.#commits += 1;
    const fault = this.#options.faults.find(({ of, at }) =>
      of === "commit" ? isCommit && at === this.#commits : at === this.#statements,
    );
    if (fault !== undefined) this.#options.onFault(fault);
    return fault;
  }
}

/** One connection in use. */
class Session {
  statements: unknown[][] = [];
  isClosed = false;
  readonly #client: pg.PoolClient;
  readonly #database: ProcessDatabase;

  constructor(client: pg.PoolClient, database: ProcessDatabase) {
    this.#client = client;
    this.#database = database;
  }

  /** The fields by which the program recognises the server's errors. */
  get connection(): unknown {
    return "connection" in this.#client ? this.#client.connection : undefined;
  }

  /** The limits that the driver reads with each statement. */
  get connectionParameters(): unknown {
    return "connectionParameters" in this.#client ? this.#client.connectionParameters : undefined;
  }

  query(statement: Statement, values?: unknown[]): Promise<pg.QueryResult | undefined> {
    return this.#database.send(this, this.#client, statement, values);
  }

  release(destroy = false): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#database.forget(this);
    this.#client.release(destroy);
  }
}

const textOf = (statement: Statement): string =>
  typeof statement === "string" ? statement : ((statement as pg.QueryConfig).text ?? "");

/** Sends a statement at the simulated time. A COPY is an object that the driver runs itself. */
function sendTo(
  client: pg.PoolClient,
  statement: Statement,
  values: unknown[] | undefined,
  now: EpochMs,
): Promise<pg.QueryResult | undefined> {
  if (isSubmittable(statement)) return submitted(client, statement);
  const text = textOf(statement).replaceAll(serverTime, () => literal(now));
  const rest = typeof statement === "string" ? {} : statement;
  return client.query({ ...rest, text }, values);
}

const serverTime = /\b(?:clock|statement)_timestamp\(\)/g;

type Copy = pg.Submittable & { callback: (error: Error | undefined) => void };

const isSubmittable = (statement: Statement): statement is Copy =>
  typeof statement === "object" && "submit" in statement;

function submitted(client: pg.PoolClient, copy: Copy): Promise<undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const { callback } = copy;
  copy.callback = (error) => {
    callback.call(copy, error);
    if (error) reject(error);
    else resolve(undefined);
  };
  client.query(copy);
  return promise;
}

const literal = (now: EpochMs): string => `timestamptz '${isoTime(now)}'`;

// A full disk: an error with which any statement can end.
const failing = "do $$ begin raise 'no space left on device' using errcode = '53100'; end $$";

const connectionLost = (): Error => new Error("Connection terminated unexpectedly");

function cut(session: Session): Error {
  session.release(true);
  return connectionLost();
}
