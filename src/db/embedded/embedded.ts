import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, escapeIdentifier } from "pg";
import { messageOf } from "../../errors.ts";
import { hasCode, lastLines } from "./embedded-binaries.ts";
import {
  type Cluster,
  type Notify,
  openCluster,
  readKept,
  readLog,
  roleName,
  startFailure,
  startServer,
  stopServer,
} from "./embedded-cluster.ts";
import { servingPort } from "./embedded-pid.ts";

export type EmbeddedServer = {
  /**
   * `postgres://bill_sync:PASSWORD@127.0.0.1:PORT/bill_sync?…`, with what would otherwise be taken
   * from PGSSLMODE and PGOPTIONS, which are meant for another server.
   */
  readonly url: string;
  [Symbol.asyncDispose](): Promise<void>;
};

export type EmbeddedOptions = {
  readonly dataDir: string;
  readonly notify?: Notify;
  /** False leaves out every sync to disk: for tests, whose data may go with the machine. */
  readonly durable?: boolean;
  /** Whether data of another version is opened by its own server, where that is installed. */
  readonly anyVersion?: boolean;
};

/** One user of the server: a session whose shared lock says that somebody is in. */
type Keeper = {
  readonly client: Client;
  readonly socket: Socket;
  readonly port: number;
  isLost: boolean;
};

const databaseName = "bill_sync";
const ownOptions = "-csearch_path=public";
const own = `sslmode=disable&options=${encodeURIComponent(ownOptions)}`;
const readyWithinMs = 60_000;
const retryMs = 100;
const answerWithinMs = 10_000;
const closeTimeoutMs = 2_000;
// Shut down, crashed, starting or stopping, stopped while we signed in, connections all used.
const passingStates = ["57P01", "57P02", "57P03", "57014", "53300"];
const usersLock = 0x62_69_6c_6c;

/** Where this process was given an embedded server. */
const ports = new Set<number>();

/** Whether an error is of a connection to one of this process's embedded servers. */
export const isOfEmbedded = (error: unknown): boolean =>
  error instanceof Error && "port" in error && ports.has(Number(error.port));

/**
 * Opens the Postgres kept under `dataDir/postgres`: makes it at the first start, starts it
 * where it does not run, and shares it where it does. The last user to leave stops it. A
 * user that is killed leaves the server running for the next one, who then stops it.
 *
 * Throws `DatabaseError`, and `UsageError` for data of another version of Postgres.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const notify = options.notify ?? (() => {});
  const { dataDir, durable = true, anyVersion = false } = options;
  const cluster = await openCluster({ dataDir, durable, anyVersion }, notify);
  const password = await readKept(cluster, "password");
  const keeper = await enter(cluster, password, notify);
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
  ports.add(keeper.port);
  return {
    url: `postgres://${roleName}:${password}@127.0.0.1:${keeper.port}/${databaseName}?${own}`,
    [Symbol.asyncDispose]: () => leave(keeper, cluster, notify),
  };
}

async function enter(cluster: Cluster, password: string, notify: Notify): Promise<Keeper> {
  const giveUpAt = performance.now() + readyWithinMs;
  let refusal = "nothing answered";
  while (performance.now() < giveUpAt) {
    const port = await servingPort(cluster.dir);
    if (port !== undefined) {
      const answer = await tryConnect(cluster, password, port);
      if ("client" in answer) return answer;
      refusal = answer.reason;
      if (answer.isTransient) {
        await sleep(retryMs);
        continue;
      }
    }
    if ((await startServer(cluster, notify)) === "busy") await sleep(retryMs);
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

async function tryConnect(
  cluster: Cluster,
  password: string,
  port: number,
): Promise<Keeper | Refusal> {
  const socket = new Socket();
  const client = new Client({
    stream: () => socket,
    host: "127.0.0.1",
    port,
    user: roleName,
    password,
    // Not bill_sync: that one may be dropped and made anew while we are in.
    database: "postgres",
    ssl: false,
    sslnegotiation: "postgres",
    options: ownOptions,
    application_name: "bill-sync keeper",
    connectionTimeoutMillis: answerWithinMs,
    query_timeout: answerWithinMs,
  });
  const keeper: Keeper = { client, socket, port, isLost: false };
  client.on("error", () => {
    keeper.isLost = true;
  });
  try {
    await client.connect();
    const refusal = await joinServer(client, cluster);
    if (refusal === undefined) return keeper;
    await hangUp(keeper);
    return refusal;
  } catch (error) {
    await hangUp(keeper);
    const reason = error instanceof Error ? error.message : String(error);
    return { reason, isTransient: hasCode(error, ...passingStates) };
  }
}

/** Counts this process among the users of the server, if it is the one of this directory. */
async function joinServer(client: Client, cluster: Cluster): Promise<Refusal | undefined> {
  // A copied data directory has the same password and, in its postmaster.pid, the same port.
  const shown = await client.query<{ data_directory: string }>("show data_directory");
  const served = shown.rows[0]?.data_directory;
  if (served !== `${cluster.dir}/data`) {
    return { reason: `the port serves ${served}`, isTransient: false };
  }
  const locked = await client.query<{ is_in: boolean }>(
    "select pg_try_advisory_lock_shared($1) as is_in",
    [usersLock],
  );
  if (locked.rows[0]?.is_in === true) return undefined;
  return { reason: "its last user is stopping it", isTransient: true };
}

async function makeDatabase(client: Client): Promise<void> {
  const found = await client.query("select from pg_database where datname = $1", [databaseName]);
  if (found.rowCount !== 0) return;
  try {
    await client.query(`create database ${escapeIdentifier(databaseName)}`);
  } catch (error) {
    // Made meanwhile: duplicate_database, or its index's unique_violation.
    if (!hasCode(error, "42P04", "23505")) throw error;
  }
}

/** Never throws: what was done with the database is done, whatever becomes of its server. */
async function leave(keeper: Keeper, cluster: Cluster, notify: Notify): Promise<void> {
  if (!keeper.isLost && (await isLast(keeper.client))) {
    const trouble = await stopServer(cluster);
    if (trouble !== undefined) notify(`the embedded Postgres is left running: ${trouble}`);
  }
  await hangUp(keeper);
}

/** A server that is frozen or gone cannot hold us up, nor keep our process alive. */
async function hangUp(keeper: Keeper): Promise<void> {
  await Promise.race([keeper.client.end(), sleep(closeTimeoutMs, undefined, { ref: false })]);
  keeper.socket.destroy();
}

/** Whoever gets the lock alone is the last; nobody new gets in while it is held. */
async function isLast(client: Client): Promise<boolean> {
  try {
    await client.query("select pg_advisory_unlock_shared($1)", [usersLock]);
    const alone = await client.query<{ is_alone: boolean }>(
      "select pg_try_advisory_lock($1) as is_alone",
      [usersLock],
    );
    return alone.rows[0]?.is_alone === true;
  } catch {
    return false;
  }
}
