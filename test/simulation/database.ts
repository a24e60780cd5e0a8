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
  readonly process: SimulatedProcess;
  /** The server's clock. */
  readonly now: () => EpochMs;
  readonly faults: readonly DatabaseFault[];
  readonly onFault: (fault: DatabaseFault) => void;
  /**
   * Told when the server has committed, whether or not anybody hears of it, with the values of the
   * transaction's statements.
   */
  readonly onCommit: (statements: Statements) => void;
};

/** The values of a transaction's statements, one after the other. */
export type Statements = readonly (readonly unknown[])[];

/** Real I/O, one after the other, while the simulated time stands still: its order is the same each time. */
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

/** The statement as drizzle hands it over. */
type Statement = string | pg.QueryConfig | pg.Submittable;

/**
 * A process's connections: those of a real pool, cut and failing where the history says so.
 * `clock_timestamp()` is the simulated time, since the server's own cannot be.
 */
export class ProcessDatabase {
  readonly #options: ProcessDatabaseOptions;
  readonly #sessions = new Set<Session>();
  #ended = Promise.withResolvers<void>();
  #statements = 0;
  #commits = 0;

  constructor(options: ProcessDatabaseOptions) {
    this.#options = options;
    // What a killed process had open, the operating system closes.
    void options.process.died.then(() => options.io(async () => this.closeAll()));
  }

  /** As the program knows it. */
  asDatabase(): Database {
    // All that the program calls of a pool are the two methods that this class has.
    return drizzle(this as unknown as pg.Pool) as Database;
  }

  get isInTransaction(): boolean {
    return [...this.#sessions].some((session) => session.isInTransaction);
  }

  /** The server closes the sessions of a process that is gone, or idle in a transaction. */
  closeAll(): void {
    for (const session of this.#sessions) session.release(true);
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

  /** Sends one statement, or does what happens to it instead. */
  send(session: Session, client: pg.PoolClient, statement: Statement, values?: unknown[]) {
    const { io, process, now, onCommit } = this.#options;
    const text = textOf(statement);
    const isCommit = text === "commit";
    const fault = this.#faultAt(isCommit);
    return process.effect(async () => {
      await this.#turnOf(session);
      return io(async () => {
        if (process.isDead() || session.isClosed) throw connectionLost();
        if (fault?.kind === "cut-before") throw cut(session);
        if (fault?.kind === "fails") await client.query(failing);
        const result = await sendTo(client, statement, values, now());
        session.statements.push(values ?? []);
        if (isCommit && result?.command === "COMMIT") onCommit(session.statements);
        if (isCommit) this.#endTransaction(session);
        else if (text.trimStart().startsWith("begin")) session.isInTransaction = true;
        if (fault?.kind === "cut-after") throw cut(session);
        return result;
      });
    });
  }

  /** A statement that had to wait for a lock of a transaction would hold up the transaction. */
  async #turnOf(session: Session): Promise<void> {
    while (!session.isInTransaction && this.isInTransaction) await this.#ended.promise;
  }

  #endTransaction(session: Session): void {
    session.isInTransaction = false;
    session.statements = [];
    this.#ended.resolve();
    this.#ended = Promise.withResolvers();
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
  isInTransaction = false;
  /** The values of the transaction's statements. */
  statements: unknown[][] = [];
  isClosed = false;
  readonly #client: pg.PoolClient;
  readonly #database: ProcessDatabase;

  constructor(client: pg.PoolClient, database: ProcessDatabase) {
    this.#client = client;
    this.#database = database;
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

/** Sends a statement at the simulated time. COPY is an object that the driver runs by itself. */
function sendTo(
  client: pg.PoolClient,
  statement: Statement,
  values: unknown[] | undefined,
  now: EpochMs,
): Promise<pg.QueryResult | undefined> {
  if (isSubmittable(statement)) return submitted(client, statement);
  const text = textOf(statement).replaceAll("clock_timestamp()", literal(now));
  const rest = typeof statement === "string" ? {} : statement;
  return client.query({ ...rest, text }, values);
}

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

// A full disk: one of the errors that a statement of any kind can end with.
const failing = "do $$ begin raise 'no space left on device' using errcode = '53100'; end $$";

const connectionLost = (): Error => new Error("Connection terminated unexpectedly");

function cut(session: Session): Error {
  session.release(true);
  return connectionLost();
}
