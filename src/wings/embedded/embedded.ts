import { createHash, randomBytes } from "node:crypto";
import {
  chmod,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readFile,
  readlink,
  realpath,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { Socket } from "node:net";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, escapeIdentifier } from "pg";
import { GuardedClient } from "../../core/postgres/connections.ts";
import { remedyOfEnded } from "../../core/postgres/database-errors.ts";
import { DatabaseError, messageOf, UsageError } from "../../lib/errors.ts";
import { isOutOfFiles, openFilesRemedy, saysOutOfFiles } from "../../lib/open-files.ts";
import {
  type Account,
  type Binaries,
  canUse,
  findBinaries,
  hasCode,
  lastLines,
  makeOnce,
  otherDatabase,
  run,
  serverAccount,
  sharedPlace,
  unless,
} from "./binaries.ts";

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

type Notify = (message: string) => void;
type Cluster = {
  /**
   * Holds `data`, `password`, `server.log` and the server's socket; a real path. Only the server's user
   * and root may enter, so whoever answers at the socket is the server.
   */
  readonly dir: string;
  readonly binaries: Binaries;
  readonly account: Account | undefined;
  readonly durable: boolean;
  /** Of the server's one role. */
  readonly password: string;
};

const roleName = "bill_sync";

/** Names the socket's file, `.s.PGSQL.5432`. No TCP port is opened. */
const socketPort = 5432;
// What an address of a socket may have: 108 bytes on Linux, 104 on macOS, with a zero at the end.
const socketBytesMax = process.platform === "linux" ? 107 : 103;
const limit = ["--silent", "--wait", "--timeout=60"];
const settings = ["-c", "timezone=UTC", "-c", "log_timezone=UTC", "-c", "log_checkpoints=off"];
// The socket lies beside the server's data, which is its working directory.
const reachable = `-p ${socketPort} -c listen_addresses= -c unix_socket_directories=..`;
const undurable = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off";

/** What a server that starts prints while another one holds the data, or is just ending. */
const heldByOthers = /lock file "\S+" (already exists|is empty)|pre-existing shared memory block/;

/** Finds the cluster under `dataDir`, or makes it. Throws `DatabaseError` or `UsageError`. */
async function openCluster(dataDir: string, durable: boolean, notify: Notify): Promise<Cluster> {
  try {
    await mkdir(dataDir, { recursive: true });
    const link = join(await realpath(resolve(dataDir)), "postgres");
    const account = await serverAccount(link);
    const dir = await choosePlace(link, account, notify);
    refuseUnfitPath(dir);
    const { major, ...binaries } = await findBinaries(account);
    await refuseOtherVersion(dir, major);
    const cluster = { dir, binaries, account, durable };
    await makeOnce(dir, "data/PG_VERSION", (temporary) =>
      initialise({ ...cluster, dir: temporary }),
    );
    if (dir !== link) await symlink(dir, link).catch(unless("EEXIST"));
    await giveTo(account, dir);
    await chmod(dir, 0o700);
    return { ...cluster, password: (await readFile(join(dir, "password"), "utf8")).trim() };
  } catch (cause) {
    if (cause instanceof DatabaseError || cause instanceof UsageError || isOutOfFiles(cause))
      throw cause;
    throw new DatabaseError(
      `a database cannot be kept under ${resolve(dataDir)} (${messageOf(cause)}): remove the cause, run as the user who made it, set DATA_DIR to another directory, or ${otherDatabase}`,
      { cause },
    );
  }
}

const socketOf = ({ dir }: Pick<Cluster, "dir">): string => join(dir, `.s.PGSQL.${socketPort}`);

async function refuseOtherVersion(dir: string, major: number): Promise<void> {
  const text = await readFile(join(dir, "data/PG_VERSION"), "utf8").catch(() => "");
  const made = Number.parseInt(text, 10);
  if (text === "" || made === major) return;
  throw new UsageError(
    `${dir} holds a database of PostgreSQL ${made}, and this program brings PostgreSQL ${major}. Move it by a backup: with the version of the program that made it, run bill-sync db backup ledger.gz; move ${dir} away; with this one, run bill-sync db restore ledger.gz`,
  );
}

async function choosePlace(
  link: string,
  account: Account | undefined,
  notify: Notify,
): Promise<string> {
  const found = await lstat(link).catch(() => undefined);
  if (found !== undefined) {
    const dir = await realpath(link).catch((cause: unknown) => {
      throw new DatabaseError(
        `${link} leads to a directory that is gone: bring it back, or remove the link to start with an empty database`,
        { cause },
      );
    });
    const { uid } = await stat(dir);
    if (account === undefined && uid !== process.getuid?.()) {
      throw new DatabaseError(
        `${dir} is of another user (uid ${uid}), who could read and change what is stored there: run as that user, or set DATA_DIR to a directory of your own`,
      );
    }
    if (await canUse(account, dirname(dir))) return dir;
    throw new DatabaseError(
      `Postgres cannot run as root, and its user cannot enter ${dirname(dir)}: run as the owner of ${dir}, or move it to where that user can enter and leave a link`,
    );
  }
  const dataDir = dirname(link);
  if (await canUse(account, dataDir)) return link;
  const dir = await sharedPlace(createHash("sha256").update(dataDir).digest("hex").slice(0, 12));
  notify(
    `the database is kept in ${dir}, with a link to it at ${link}, because Postgres cannot run as root and its user cannot enter ${dataDir}`,
  );
  return dir;
}

/** Refuses paths that a shell would expand, as pg_ctl passes them to one in double quotes, and too long ones. */
function refuseUnfitPath(path: string): void {
  const excess = Buffer.byteLength(socketOf({ dir: path })) - socketBytesMax;
  if (excess > 0) {
    throw new DatabaseError(
      `Postgres cannot be kept in ${path}: the path is ${excess} bytes too long for its socket; set DATA_DIR to a shorter one (and move there what is stored), or ${otherDatabase}`,
    );
  }
  if (/["$`\\\n]/.test(path))
    throw new DatabaseError(`Postgres cannot be kept in ${path}: set DATA_DIR to a plainer path`);
}

async function initialise(cluster: Omit<Cluster, "password">): Promise<void> {
  const { dir, binaries, account, durable } = cluster;
  await mkdir(dir, { mode: 0o700 });
  const password = join(dir, "password");
  const secret = randomBytes(24).toString("base64url");
  await writeFile(password, `${secret}\n`, { mode: 0o600, flush: true });
  await giveTo(account, dir);
  const result = await run(
    binaries.initdb,
    [
      ...["-D", join(dir, "data"), "-U", roleName, `--pwfile=${password}`],
      ...["--encoding=UTF8", "--locale=C", "--auth=scram-sha-256", ...settings],
      ...(durable ? [] : ["--no-sync"]),
    ],
    account,
  );
  if (!result.ok) {
    throw new DatabaseError(
      `initdb failed in ${dirname(dir)}: ${lastLines(result.output)}\n${remedyOf(result.output)} and run again, or ${otherDatabase}`,
    );
  }
}

async function giveTo(account: Account | undefined, dir: string): Promise<void> {
  if (account === undefined || (await stat(dir)).uid === account.uid) return;
  const result = await run("chown", ["-R", `${account.uid}:${account.gid}`, dir]);
  if (!result.ok) throw new Error(lastLines(result.output));
}

/**
 * Starts the server as a daemon.
 * "busy": another process is starting or stopping it, so try again.
 */
async function startServer(cluster: Cluster): Promise<"started" | "busy"> {
  for (const lock of [join(cluster.dir, "data/postmaster.pid"), `${socketOf(cluster)}.lock`]) {
    await disownStranger(lock, join(cluster.dir, "data"));
  }
  const { binaries, account, durable } = cluster;
  const logged = (await readLog(cluster)).length;
  const result = await run(
    binaries.pgCtl,
    [
      ...["start", ...limit, "-D", join(cluster.dir, "data")],
      ...["-l", join(cluster.dir, "server.log")],
      ...["-o", durable ? reachable : `${reachable} ${undurable}`],
    ],
    account,
  );
  if (result.ok) return "started";
  const said = (await readLog(cluster)).slice(logged);
  if (heldByOthers.test(said)) return "busy";
  throw startFailure(cluster, lastLines(`${result.output}\n${said}`));
}

/** Stops the server and ends all its connections. @returns what went wrong, if anything. */
async function stopServer(cluster: Cluster): Promise<string | undefined> {
  const { dir, binaries, account } = cluster;
  const args = ["stop", ...limit, "-D", join(dir, "data"), "--mode=fast"];
  const result = await run(binaries.pgCtl, args, account);
  return result.ok ? undefined : lastLines(result.output);
}

const remedyOf = (said: string): string =>
  saysOutOfFiles(said) ? openFilesRemedy : "remove the cause (free disk space, say)";

function startFailure(cluster: Cluster, reason: string, cause?: unknown): DatabaseError {
  return new DatabaseError(
    `the embedded Postgres did not start: ${reason}\nsee ${join(cluster.dir, "server.log")}, ${remedyOf(reason)} and run again, or ${otherDatabase}`,
    { cause },
  );
}

async function readLog(cluster: Cluster): Promise<string> {
  return readFile(join(cluster.dir, "server.log"), "latin1").catch(() => "");
}

// postmaster.pid and the socket's lock are written by the server that holds the data. Both begin with its
// process's number and its data's path.

const pidOfNobody = 2 ** 31 - 1;
const lockBytesMax = 8_192;
const lockFilledMs = 500;

/**
 * Makes a lock file name no process where the process that it names is not the server of this data.
 * Postgres takes any live process of that number for the server, and would not start. That process is
 * not the server in four cases: it is a killed server that nobody has reaped (in a container without
 * an init, for good), another program or another Postgres that was given the number, or the data is a copy.
 * A file without a process or a path, which a power cut may leave, is of no server either.
 *
 * The file is not removed: by the shared memory key in postmaster.pid, Postgres finds orphaned backends, and a
 * server whose directory was renamed. It is written through the descriptor that was read, so that a
 * server that starts meanwhile keeps its own file.
 */
async function disownStranger(lock: string, dataDir: string): Promise<void> {
  const file = await open(lock, "r+").catch(unless("ENOENT"));
  if (file === undefined) return;
  try {
    const [pid = "", servedDir = dataDir, ...others] = (await wholeTextOf(file)).split("\n");
    if (servedDir === dataDir && (await isServerOf(pid, dataDir))) return;
    const text = [pidOfNobody, servedDir, ...others].join("\n");
    await file.truncate();
    await file.write(text, 0);
  } finally {
    await file.close();
  }
}

/** What a lock file says; "" where it is not whole, and remains so. */
async function wholeTextOf(file: FileHandle): Promise<string> {
  for (const isLast of [false, true]) {
    const { buffer, bytesRead } = await file.read({
      buffer: Buffer.alloc(lockBytesMax),
      position: 0,
    });
    const text = buffer.toString("utf8", 0, bytesRead);
    if (/^[1-9]\d*\n[^\0\n]+\n/.test(text)) return text;
    // A server that starts makes the file and fills it at once.
    if (!isLast) await sleep(lockFilledMs);
  }
  return "";
}

/** Whether a process is the server of this data, as far as the system tells. */
async function isServerOf(pid: string, dataDir: string): Promise<boolean> {
  if (pid === "") return false;
  // "PID (command) state …": absent for a pid that is gone, and elsewhere than on Linux.
  const found = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  if (found === "") return true;
  if (!/^\d+ \(postgres\) [^ZX]/.test(found)) return false;
  // A server works in the folder of its data.
  return (await readlink(`/proc/${pid}/cwd`).catch(() => dataDir)) === dataDir;
}
