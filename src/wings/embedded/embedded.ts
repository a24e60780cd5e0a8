import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, escapeIdentifier } from "pg";
import { GuardedClient } from "../../core/postgres/connections.ts";
import { remedyOfEnded } from "../../core/postgres/database-errors.ts";
import { messageOf } from "../../lib/errors.ts";
import { hasCode, lastLines } from "./binaries.ts";
import {
  type Cluster,
  type Notify,
  openCluster,
  readLog,
  roleName,
  socketOf,
  socketPort,
  startFailure,
  startServer,
  stopServer,
} from "./cluster.ts";

export type EmbeddedServer = {
  /**
   * `postgres:///bill_sync?host=FOLDER&user=bill_sync&password=PASSWORD&…`, of a socket. The query sets what
   * a client would otherwise take from PGPORT, PGSSLMODE and PGOPTIONS, which are meant for another server.
   */
  readonly url: string;
  /** The same address for sessions that write only if they say so. */
  readonly readOnlyUrl: string;
  [Symbol.asyncDispose](): Promise<void>;
};

export type EmbeddedOptions = {
  readonly dataDir: string;
  readonly notify?: Notify;
  /** False turns every sync to disk off: for tests, whose data need not survive a crash. */
  readonly durable?: boolean;
};

/** A session that registers this process as a user of the server, by a shared lock. */
type Keeper = {
  readonly client: Client;
  readonly socket: Socket;
  isLost: boolean;
};

const databaseName = "bill_sync";
const ownOptions = "-csearch_path=public";
const readyWithinMs = 60_000;
const retryMs = 100;
const answerWithinMs = 10_000;
const closeTimeoutMs = 2_000;
// admin_shutdown, crash_shutdown, cannot_connect_now, query_canceled, too_many_connections.
const passingStates = ["57P01", "57P02", "57P03", "57014", "53300"];
const usersLock = 0x62_69_6c_6c;

const isGone =
  "the embedded Postgres was ended while it was in use; run again to start it, and see " +
  "postgres/server.log in DATA_DIR for the cause";

/**
 * Opens the Postgres kept under `dataDir/postgres`, which the first start creates. The server is
 * started where it does not run, and shared where it does. The last process to leave stops it. Where
 * that one is killed, the server stays up until the next process leaves.
 *
 * Throws `DatabaseError`, and `UsageError` for data of another version of Postgres.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const notify = options.notify ?? (() => {});
  const { dataDir, durable = true } = options;
  const cluster = await openCluster(dataDir, durable, notify);
  const keeper = await enter(cluster);
  try {
    await makeDatabase(keeper.client);
  } catch (cause) {
    await leave(keeper, cluster, notify);
    throw startFailure(
      cluster,
      `its database ${databaseName} cannot be made (${messageOf(cause)})`,
      cause,
    );
  }
  remedyOfEnded.set(socketOf(cluster), isGone);
  return {
    url: urlOf(cluster),
    readOnlyUrl: urlOf(cluster, "-cdefault_transaction_read_only=on"),
    [Symbol.asyncDispose]: () => leave(keeper, cluster, notify),
  };
}

function urlOf({ dir, password }: Cluster, ...options: readonly string[]): string {
  const url = new URL(`postgres:///${databaseName}`);
  url.search = new URLSearchParams({
    host: dir,
    port: String(socketPort),
    user: roleName,
    password,
    sslmode: "disable",
    options: [ownOptions, ...options].join(" "),
  }).toString();
  // A blank that is written as + would reach libpq as a plus.
  return url.href.replaceAll("+", "%20");
}

async function enter(cluster: Cluster): Promise<Keeper> {
  const giveUpAt = performance.now() + readyWithinMs;
  let refusal = "nothing answered";
  while (performance.now() < giveUpAt) {
    const answer = await tryConnect(cluster);
    if ("client" in answer) return answer;
    refusal = answer.reason;
    if (answer.isTransient || (await startServer(cluster)) === "busy") await sleep(retryMs);
  }
  throw startFailure(
    cluster,
    `no connection within ${readyWithinMs / 1_000} s (${refusal}): ${lastLines(await readLog(cluster))}`,
  );
}

type Refusal = {
  readonly reason: string;
  /** A server is starting or stopping: try to connect again rather than start another. */
  readonly isTransient: boolean;
};

/** Connects, and registers this process as a user of the server. */
async function tryConnect({ dir, password }: Cluster): Promise<Keeper | Refusal> {
  const socket = new Socket();
  const client = new GuardedClient({
    stream: () => socket,
    host: dir,
    port: socketPort,
    user: roleName,
    password,
    // Not bill_sync, which may be dropped and created anew while this session is open.
    database: "postgres",
    ssl: false,
    sslnegotiation: "postgres",
    options: ownOptions,
    application_name: "bill-sync keeper",
    connectionTimeoutMillis: answerWithinMs,
    query_timeout: answerWithinMs,
  });
  const keeper: Keeper = { client, socket, isLost: false };
  client.on("error", () => {
    keeper.isLost = true;
  });
  try {
    await client.connect();
    if (await hasLock(client, "select pg_try_advisory_lock_shared($1) as is_had")) return keeper;
    await hangUp(keeper);
    return { reason: "its last user is stopping it", isTransient: true };
  } catch (error) {
    await hangUp(keeper);
    return { reason: messageOf(error), isTransient: hasCode(error, ...passingStates) };
  }
}

async function hasLock(client: Client, statement: string): Promise<boolean> {
  const { rows } = await client.query<{ is_had: boolean }>(statement, [usersLock]);
  return rows[0]?.is_had === true;
}

async function makeDatabase(client: Client): Promise<void> {
  const found = await client.query("select from pg_database where datname = $1", [databaseName]);
  if (found.rowCount !== 0) return;
  try {
    await client.query(`create database ${escapeIdentifier(databaseName)}`);
  } catch (error) {
    // Another process created it meanwhile: duplicate_database, or unique_violation of its index.
    if (!hasCode(error, "42P04", "23505")) throw error;
  }
}

/** Never throws: the caller's work is committed whether or not the server stops. */
async function leave(keeper: Keeper, cluster: Cluster, notify: Notify): Promise<void> {
  if (!keeper.isLost && (await isLast(keeper.client))) {
    const trouble = await stopServer(cluster);
    if (trouble !== undefined) notify(`the embedded Postgres is left running: ${trouble}`);
  }
  await hangUp(keeper);
}

/** Closes the connection within a time limit, so that a frozen server does not keep this process alive. */
async function hangUp(keeper: Keeper): Promise<void> {
  await Promise.race([keeper.client.end(), sleep(closeTimeoutMs, undefined, { ref: false })]);
  keeper.socket.destroy();
}

/** The process that gets the exclusive lock is the last user. While it holds the lock, no other can join. */
async function isLast(client: Client): Promise<boolean> {
  try {
    await client.query("select pg_advisory_unlock_shared($1)", [usersLock]);
    return await hasLock(client, "select pg_try_advisory_lock($1) as is_had");
  } catch {
    return false;
  }
}
