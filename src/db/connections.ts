import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import PQueue from "p-queue";
import pg from "pg";
import { secondMs } from "../contract/time.ts";
import { errorCode } from "../errors.ts";
import { addressOf, connectionOf, GuardedClient } from "./driver.ts";

/** How long a new connection may take. */
export const connectMaxMs = 10 * secondMs;

/**
 * As many connections as 60 accounts need at 300 ms of round trip. More would not help a thin line:
 * where nine share 24 kB/s, a page of 100 bills takes each of them 7 s.
 */
export const connectionsMax = 10;

// Longer than any page takes. Work that takes longer waits for a lock, or for a machine that hangs and
// holds the rows of some accounts. Other accounts' work need not wait for it.
const usualLimits = { stuckAfterMs: 15 * secondMs, connectMaxMs };
/** How many more connections may be opened in place of stuck ones. */
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
 * A pool that makes do with the connections it gets. A role, a server or a pooler may refuse another
 * one, and one is enough. Callers queue here without a time limit of their own: each statement ahead
 * of them has one. Where there are two connections or more, one is kept for urgent work. A connection
 * that is stuck is made up for by one more.
 */
export class Connections extends pg.Pool {
  /** Holds one task for each client that is lent out. */
  readonly #lent = new PQueue({ concurrency: connectionsMax - 1 });
  /** Connections at work. The pool's own count includes those that are still being opened. */
  #atWork = 0;
  #spare = spareConnections;
  #isMakingDo = false;
  readonly #stuckAfterMs: number;

  readonly #connectMaxMs: number;

  constructor(config: pg.PoolConfig, limits: Partial<typeof usualLimits> = {}) {
    const { stuckAfterMs, connectMaxMs } = { ...usualLimits, ...limits };
    super({
      ...config,
      Client: GuardedClient,
      max: connectionsMax,
      connectionTimeoutMillis: connectMaxMs,
    });
    this.#stuckAfterMs = stuckAfterMs;
    this.#connectMaxMs = connectMaxMs;
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

  /** Lends a client ahead of the queue; where there is only one connection, as the next in it. */
  async connectFirst(): Promise<pg.PoolClient> {
    const askedAt = performance.now();
    for (;;) {
      try {
        return await super.connect();
      } catch (error) {
        // A connection that is at work will come back, so waiting ends. Where none is at work, the
        // server is silent, and waiting would never end.
        if (this.#atWork > 0 && isForWantOfConnections(error)) this.#makeDo();
        else if (!isOutOfConnections(error) || performance.now() - askedAt > this.#connectMaxMs)
          throw error;
      }
      await delay(refusedPauseMs);
    }
  }

  #lend(): Promise<pg.PoolClient> {
    const { promise, resolve, reject } = Promise.withResolvers<pg.PoolClient>();
    void this.#lent.add(async () => {
      try {
        const client = await this.connectFirst();
        using _ = this.#insteadOfStuck(client);
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

  /**
   * Allows one more connection from when this one is stuck until it comes back. Ends it where the
   * server answers no new connection either: its statement would wait for two minutes.
   */
  #insteadOfStuck(client: pg.PoolClient): Disposable {
    let isLent = false;
    const change = (by: number) => {
      this.#spare -= by;
      this.options.max += by;
      this.#lent.concurrency += by;
    };
    let isBack = false;
    const timer = setInterval(async () => {
      if (!isLent && this.#spare > 0) {
        isLent = true;
        change(1);
      }
      if ((await isAnswering(client, this.#connectMaxMs)) || isBack) return;
      connectionOf(client).stream.destroy(new Error("connection timeout"));
    }, this.#stuckAfterMs).unref();
    return {
      [Symbol.dispose]: () => {
        isBack = true;
        clearInterval(timer);
        // Once the pool makes do with what the server grants, the extra one no longer counts.
        if (isLent && !this.#isMakingDo) change(-1);
      },
    };
  }

  /** Opens no more connections from now on. */
  #makeDo(): void {
    this.#isMakingDo = true;
    this.#spare = 0;
    this.options.max = this.totalCount;
    this.#lent.concurrency = Math.max(1, this.totalCount - 1);
  }
}

// Every Postgres and every pooler answers this message with one byte, before it knows who asks.
const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const unreachableCodes = ["EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"];

/** Whether the client's server answers a new connection, or refuses it. */
async function isAnswering(client: pg.PoolClient, maxMs: number): Promise<boolean> {
  const { host, port } = addressOf(client);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = host.startsWith("/")
    ? connect(`${host}/.s.PGSQL.${port}`)
    : connect({ host, port });
  const timer = setTimeout(() => resolve(false), maxMs).unref();
  socket.once("connect", () => socket.write(sslRequest));
  socket.once("data", () => resolve(true));
  socket.once("error", (error) => resolve(!unreachableCodes.includes(errorCode(error) ?? "")));
  socket.once("close", () => resolve(true));
  const isAnswered = await promise;
  clearTimeout(timer);
  socket.destroy();
  return isAnswered;
}

/** Whether the role, the database or the server has reached its limit of connections. */
export const isOutOfConnections = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === tooManyConnections;

/** A pooler in session mode does not refuse: it keeps the next connection waiting until one ends. */
const isForWantOfConnections = (error: unknown): boolean =>
  isOutOfConnections(error) ||
  (error instanceof Error &&
    /connection timeout|timeout exceeded when trying to connect/.test(error.message));
