import { createHash, randomBytes, randomInt } from "node:crypto";
import {
  chown,
  lstat,
  mkdir,
  readFile,
  realpath,
  rename,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { DatabaseError, messageOf, UsageError } from "../../errors.ts";
import { openFilesRemedy, saysOutOfFiles } from "../../open-files.ts";
import { canUse, serverAccount } from "./embedded-account.ts";
import { type Binaries, makeOnce, makeSharedDir, sharedDir } from "./embedded-binaries.ts";
import { disownStranger } from "./embedded-pid.ts";
import { type Account, lastLines, otherDatabase, run, unless } from "./embedded-tools.ts";
import { binariesFor } from "./embedded-version.ts";

export type Notify = (message: string) => void;
export type Cluster = {
  /** Holds `data`, `password`, `port` and `server.log`; a real path. */
  readonly dir: string;
  readonly binaries: Binaries;
  readonly account: Account | undefined;
  readonly durable: boolean;
};

export const roleName = "bill_sync";

// Below the ports that systems hand out to outgoing connections (from 32768 on Linux).
const portMin = 20_000;
const portMax = 32_000;
const portTriesMax = 10;
const logBytesMax = 1024 * 1024;
const startLimitSeconds = 60;
const stopLimitSeconds = 60;

const settings = [
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  "timezone=UTC",
  "log_timezone=UTC",
  "log_checkpoints=off",
].flatMap((setting) => ["-c", setting]);
const undurable = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off";

/** What a server that starts prints while another one holds the data, or is just ending. */
const heldByOthers =
  /lock file "postmaster\.pid" (already exists|is empty)|pre-existing shared memory block/;

export type ClusterOptions = {
  readonly dataDir: string;
  readonly durable: boolean;
  /** Whether data of another version may be opened by a server of that version, if one is installed. */
  readonly anyVersion: boolean;
};

/** Finds the cluster under `dataDir`, or makes it. Throws `DatabaseError` or `UsageError`. */
export async function openCluster(options: ClusterOptions, notify: Notify): Promise<Cluster> {
  try {
    return await findOrMake(options, notify);
  } catch (cause) {
    if (cause instanceof DatabaseError || cause instanceof UsageError) throw cause;
    const { dataDir } = options;
    throw new DatabaseError(
      `a database cannot be kept under ${resolve(dataDir)} (${messageOf(cause)}): remove the cause, run as the user who made it, set DATA_DIR to another directory, or ${otherDatabase}`,
      { cause },
    );
  }
}

async function findOrMake(
  { dataDir, durable, anyVersion }: ClusterOptions,
  notify: Notify,
): Promise<Cluster> {
  await mkdir(dataDir, { recursive: true });
  const link = join(await realpath(resolve(dataDir)), "postgres");
  const account = await serverAccount(link);
  const dir = checked(await choosePlace(link, account, notify));
  const cluster = { dir, binaries: await binariesFor(dir, account, anyVersion), account, durable };
  await makeOnce(dir, "data/PG_VERSION", (temporary) => initialise({ ...cluster, dir: temporary }));
  if (dir !== link) await symlink(dir, link).catch(unless("EEXIST"));
  await giveTo(account, dir);
  return cluster;
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
    if (account === undefined || (await canUse(account, dirname(dir)))) return dir;
    throw new DatabaseError(
      `Postgres cannot run as root, and its user cannot enter ${dirname(dir)}: run as the owner of ${dir}, or move it to where that user can enter and leave a link`,
    );
  }
  const dataDir = dirname(link);
  if (account === undefined || (await canUse(account, dataDir))) return link;
  const name = createHash("sha256").update(dataDir).digest("hex").slice(0, 12);
  const dir = join(sharedDir, name);
  await makeSharedDir();
  notify(
    `the database is kept in ${dir}, with a link to it at ${link}, because Postgres cannot run as root and its user cannot enter ${dataDir}`,
  );
  return dir;
}

/** Refuses paths that a shell would expand: pg_ctl passes them to one in double quotes. */
function checked(path: string): string {
  if (!/["$`\\\n]/.test(path)) return path;
  throw new DatabaseError(`Postgres cannot be kept in ${path}: set DATA_DIR to a plainer path`);
}

async function initialise(cluster: Cluster): Promise<void> {
  const { dir, binaries, account, durable } = cluster;
  await mkdir(dir, { mode: 0o700 });
  const password = join(dir, "password");
  await writeSecret(password, randomBytes(24).toString("base64url"));
  await writeSecret(join(dir, "port"), String(randomPort()));
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
  if (!result.ok) {
    throw new DatabaseError(
      `${dir} cannot be given to the server's user (${lastLines(result.output)}): set DATA_DIR to a directory where root can`,
    );
  }
}

async function writeSecret(path: string, text: string): Promise<void> {
  await writeFile(path, `${text}\n`, { mode: 0o600, flush: true });
}

/** Reads a file of the cluster. Throws where this user may not read it. */
export async function readKept(cluster: Cluster, name: "password" | "port"): Promise<string> {
  try {
    return (await readFile(join(cluster.dir, name), "utf8")).trim();
  } catch (cause) {
    throw new DatabaseError(
      `${join(cluster.dir, name)} cannot be read (${messageOf(cause)}): run as the user who made the database, or as root`,
      { cause },
    );
  }
}

/**
 * Starts the server as a daemon, on the port of its last start unless another program has taken it.
 * "busy": another process is starting or stopping the server, so try again.
 */
export async function startServer(cluster: Cluster, notify: Notify): Promise<"started" | "busy"> {
  await disownStranger(cluster.dir);
  const lastPort = Number(await readKept(cluster, "port"));
  for (let tried = 0; tried < portTriesMax; tried++) {
    const port = tried === 0 ? lastPort : randomPort();
    const outcome = await startOn(cluster, port);
    if (outcome === "port taken") continue;
    if (outcome === "started" && port !== lastPort) {
      await savePort(cluster, port);
      notify(`port ${lastPort} is taken by another program: the database is now on port ${port}`);
    }
    return outcome;
  }
  throw startFailure(cluster, `the ${portTriesMax} ports it tried are all taken`);
}

async function startOn(cluster: Cluster, port: number): Promise<"started" | "busy" | "port taken"> {
  const { binaries, account, durable } = cluster;
  const log = join(cluster.dir, "server.log");
  const logged = await rotate(log);
  const result = await run(
    binaries.pgCtl,
    [
      ...["start", "--silent", "--wait", `--timeout=${startLimitSeconds}`],
      ...["-D", join(cluster.dir, "data"), "-l", log],
      ...["-o", durable ? `-p ${port}` : `-p ${port} ${undurable}`],
    ],
    account,
  );
  if (result.ok) return "started";
  const said = (await readLog(cluster)).slice(logged);
  if (heldByOthers.test(said)) return "busy";
  // We held the lock on the data, so the port belongs to another program.
  if (/Address already in use/.test(said)) return "port taken";
  throw startFailure(cluster, lastLines(`${result.output}\n${said}`));
}

/** Stops the server and ends all its connections. @returns what went wrong, if anything. */
export async function stopServer(cluster: Cluster): Promise<string | undefined> {
  const result = await run(
    cluster.binaries.pgCtl,
    [
      ...["stop", "--silent", "--wait", `--timeout=${stopLimitSeconds}`],
      ...["-D", join(cluster.dir, "data"), "--mode=fast"],
    ],
    cluster.account,
  );
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

async function rotate(log: string): Promise<number> {
  const size = await stat(log).then(
    (found) => found.size,
    () => 0,
  );
  if (size < logBytesMax) return size;
  await rename(log, `${log}.1`).catch(unless("ENOENT"));
  return 0;
}

async function savePort(cluster: Cluster, port: number): Promise<void> {
  const path = join(cluster.dir, "port");
  const temporary = `${path}.new-${process.pid}`;
  await writeSecret(temporary, String(port));
  if (cluster.account !== undefined) {
    await chown(temporary, cluster.account.uid, cluster.account.gid);
  }
  await rename(temporary, path);
}

function randomPort(): number {
  return randomInt(portMin, portMax);
}
