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
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseError, messageOf, UsageError } from "../../lib/errors.ts";
import { isOutOfFiles, openFilesRemedy, saysOutOfFiles } from "../../lib/open-files.ts";
import {
  type Account,
  type Binaries,
  canUse,
  findBinaries,
  lastLines,
  makeOnce,
  otherDatabase,
  run,
  serverAccount,
  sharedPlace,
  unless,
} from "./binaries.ts";

export type Notify = (message: string) => void;
export type Cluster = {
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

export const roleName = "bill_sync";

/** Names the socket's file, `.s.PGSQL.5432`. No TCP port is opened. */
export const socketPort = 5432;
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
export async function openCluster(
  dataDir: string,
  durable: boolean,
  notify: Notify,
): Promise<Cluster> {
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

export const socketOf = ({ dir }: Pick<Cluster, "dir">): string =>
  join(dir, `.s.PGSQL.${socketPort}`);

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
export async function startServer(cluster: Cluster): Promise<"started" | "busy"> {
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
export async function stopServer(cluster: Cluster): Promise<string | undefined> {
  const { dir, binaries, account } = cluster;
  const args = ["stop", ...limit, "-D", join(dir, "data"), "--mode=fast"];
  const result = await run(binaries.pgCtl, args, account);
  return result.ok ? undefined : lastLines(result.output);
}

const remedyOf = (said: string): string =>
  saysOutOfFiles(said) ? openFilesRemedy : "remove the cause (free disk space, say)";

export function startFailure(cluster: Cluster, reason: string, cause?: unknown): DatabaseError {
  return new DatabaseError(
    `the embedded Postgres did not start: ${reason}\nsee ${join(cluster.dir, "server.log")}, ${remedyOf(reason)} and run again, or ${otherDatabase}`,
    { cause },
  );
}

export async function readLog(cluster: Cluster): Promise<string> {
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
