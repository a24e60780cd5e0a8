import { setTimeout as delay } from "node:timers/promises";
import PQueue from "p-queue";
import pg from "pg";
import { secondMs } from "../contract/time.ts";

/** How long a new connection may take. */
export const connectMaxMs = 10 * secondMs;

/**
 * As many as 60 accounts need at 300 ms of round trip. On a line of 24 kB/s, which all share, a page
 * of 100 bills takes nine of them 7 s.
 */
export const connectionsMax = 10;

// No page takes as long. What does waits for a lock, or for a machine that hangs and holds the rows of
// some accounts: those of others are not to wait for it.
const stuckAfterMs = 15 * secondMs;
/** How many more connections there may be, in the place of those that are stuck. */
export const spareConnections = connectionsMax;

// A connection that was just closed counts at the server until its process has ended.
const refusedPauseMs = 250;
const tooManyConnections = "53300";

type Checkout = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  done: pg.PoolClient["release"],
) => void;

/**
 * A pool that makes do with the connections it gets: a role, a server or a pooler may refuse the
 * next one, and one is enough. Who asks waits for its turn here for as long as those before it
 * take, each of whose statements is bounded. One connection is kept for what is urgent, where there
 * are two. In the place of one that is stuck another one is lent.
 */
export class Connections extends pg.Pool {
  /** One task for each client that is lent out. */
  readonly #lent = new PQueue({ concurrency: connectionsMax - 1 });
  /** Connections at work. The pool's own count has those that are still being made, too. */
  #atWork = 0;
  #spare = spareConnections;
  #isMakingDo = false;
  readonly #stuckAfterMs: number;

  constructor(config: pg.PoolConfig, { stuckAfterMs: after = stuckAfterMs } = {}) {
    super({ ...config, max: connectionsMax, connectionTimeoutMillis: connectMaxMs });
    this.#stuckAfterMs = after;
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
    const lent = this.#lend();
    if (callback !== undefined) {
      lent.then(
        (client) => callback(undefined, client, client.release),
        (error: Error) => callback(error, undefined, () => undefined),
      );
    }
    return lent;
  }

  /** A client that is had before all who wait for their turn: with the only connection, the next. */
  async connectFirst(): Promise<pg.PoolClient> {
    const askedAt = performance.now();
    for (;;) {
      try {
        return await super.connect();
      } catch (error) {
        // One that is at work comes back. Where none is, a server that is silent would be waited for
        // without end.
        if (this.#atWork > 0 && isForWantOfConnections(error)) this.#makeDo();
        else if (!isRefused(error) || performance.now() - askedAt > connectMaxMs) throw error;
      }
      await delay(refusedPauseMs);
    }
  }

  #lend(): Promise<pg.PoolClient> {
    const { promise, resolve, reject } = Promise.withResolvers<pg.PoolClient>();
    void this.#lent.add(async () => {
      try {
        const client = await this.connectFirst();
        using _ = this.#insteadOfStuck();
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
    return promise;
  }

  /** Lends one more connection where this one does not come back in time, until it does. */
  #insteadOfStuck(): Disposable {
    let isLent = false;
    const change = (by: number) => {
      this.#spare -= by;
      this.options.max += by;
      this.#lent.concurrency += by;
    };
    const timer = setTimeout(() => {
      if (this.#spare === 0) return;
      isLent = true;
      change(1);
    }, this.#stuckAfterMs).unref();
    return {
      [Symbol.dispose]: () => {
        clearTimeout(timer);
        // With as many as the server grants there is none to be taken back.
        if (isLent && !this.#isMakingDo) change(-1);
      },
    };
  }

  /** From now on with as many connections as there are. */
  #makeDo(): void {
    this.#isMakingDo = true;
    this.#spare = 0;
    this.options.max = this.totalCount;
    this.#lent.concurrency = Math.max(1, this.totalCount - 1);
  }
}

/** The role, the database or the server has as many connections as it may have. */
export const isRefused = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === tooManyConnections;

/** A pooler in session mode does not refuse: the next connection waits there for another's end. */
const isForWantOfConnections = (error: unknown): boolean =>
  isRefused(error) ||
  (error instanceof Error &&
    /connection timeout|timeout exceeded when trying to connect/.test(error.message));
