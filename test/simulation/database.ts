import { drizzle } from "drizzle-orm/node-postgres";
import type pg from "pg";
import type { Database } from "../../src/core/postgres/connect.ts";
import { isoTime } from "../../src/lib/time.ts";
import type { VirtualClock } from "../support/virtual-clock.ts";
import type { DatabaseFault } from "./history.ts";
import type { SimulatedProcess } from "./process.ts";
import type { World } from "./world.ts";

/** The text and the values of each statement of a transaction, in order. */
export type Statements = readonly (readonly unknown[])[];

/**
 * Runs real I/O sequentially while the simulated time stands still, so that its order is always the
 * same.
 */
type SerialIo = <T>(io: () => Promise<T>) => Promise<T>;

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
type Statement = string | pg.QueryConfig;

export type DatabaseEvents = {
  readonly onDatabaseFault?: (fault: DatabaseFault) => void;
  /** May look at what a transaction has written, before it is committed. */
  readonly beforeCommit?: (client: pg.PoolClient) => Promise<void>;
  /** Called when the server has committed, even if the client never hears of it. */
  readonly onCommit: (statements: Statements) => void;
};

/**
 * A process's connections: those of a real pool, cut and failing as the history says.
 * The server's functions of the time are replaced by the simulated time.
 */
export function processDatabase(
  { pool, io, transactions, now }: World,
  process: SimulatedProcess,
  faults: readonly DatabaseFault[],
  { onDatabaseFault, beforeCommit, onCommit }: DatabaseEvents,
) {
  const sessions = new Set<pg.PoolClient>();
  let statements = 0;
  let commits = 0;

  function faultAt(isCommit: boolean): DatabaseFault | undefined {
    statements += 1;
    if (isCommit) commits += 1;
    const fault = faults.find(({ of, at }) =>
      of === "commit" ? isCommit && at === commits : at === statements,
    );
    if (fault !== undefined) onDatabaseFault?.(fault);
    return fault;
  }

  function sessionOf(client: pg.PoolClient): pg.PoolClient {
    let sent: unknown[][] = [];
    let isClosed = false;
    let beganAt = now();
    const endTransaction = (): void => {
      sent = [];
      transactions.end(session);
    };
    const cut = (): Error => {
      session.release(true);
      return connectionLost();
    };
    /** Sends one statement at the simulated time, unless a fault replaces it. */
    const query = (statement: Statement, values?: unknown[]): Promise<pg.QueryResult> => {
      const config = typeof statement === "string" ? { text: statement } : statement;
      const isCommit = config.text === "commit";
      const fault = faultAt(isCommit);
      return process.effect(async () => {
        const begins = config.text.trimStart().startsWith("begin");
        await transactions.turnOf(session, begins);
        return io(async () => {
          if (process.isDead() || isClosed) {
            // It may have come to its turn after its process died.
            transactions.end(session);
            throw connectionLost();
          }
          if (fault?.kind === "cut-before") throw cut();
          if (fault?.kind === "fails") await client.query(failing);
          if (isCommit) await beforeCommit?.(client);
          if (!transactions.has(session) || begins) beganAt = now();
          const text = config.text.replaceAll(
            serverTime,
            (_, of) => `timestamptz '${isoTime(of === "transaction" ? beganAt : now())}'`,
          );
          const result = await client.query({ ...config, text }, values);
          sent.push([config.text, ...(values ?? [])]);
          if (isCommit && result.command === "COMMIT") onCommit(sent);
          if (isCommit) endTransaction();
          if (fault?.kind === "cut-after") throw cut();
          return result;
        });
      });
    };
    const release = (destroy = false): void => {
      if (isClosed) return;
      isClosed = true;
      sessions.delete(session);
      endTransaction();
      client.release(destroy);
    };
    const session = new Proxy(client, {
      get: (_, name) =>
        name === "query" ? query : name === "release" ? release : Reflect.get(client, name),
      // Statements are sent one after the other, whatever the program asks the driver for.
      set: () => true,
    });
    return session;
  }

  /** The server closes the sessions of a process that is gone, or those that meet a condition. */
  const close = (isClosed: (session: pg.PoolClient) => boolean = () => true): void => {
    for (const session of sessions) if (isClosed(session)) session.release(true);
  };
  // The operating system closes what a killed process had open.
  void process.died.then(() => io(async () => close()));

  const connect = (): Promise<pg.PoolClient> =>
    io(async () => {
      if (process.isDead()) throw connectionLost();
      const session = sessionOf(await pool.connect());
      sessions.add(session);
      return session;
    });
  const query = async (statement: Statement, values?: unknown[]): Promise<pg.QueryResult> => {
    const session = await connect();
    try {
      return await session.query(statement as pg.QueryConfig, values);
    } finally {
      session.release();
    }
  };
  return {
    // The program calls only these two methods of a pool.
    db: drizzle({ connect, query } as unknown as pg.Pool) as Database,
    /** The server closes sessions that have been idle in a transaction for too long. */
    closeIdle: () => close((session) => transactions.has(session)),
  };
}

const serverTime = /\b(clock|statement|transaction)_timestamp\(\)/g;

// A full disk: an error with which any statement can end.
const failing = "do $$ begin raise 'no space left on device' using errcode = '53100'; end $$";

const connectionLost = (): Error => new Error("Connection terminated unexpectedly");
