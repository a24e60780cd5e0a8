import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { chmod, chown, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import {
  type Binaries,
  findBinaries,
  hasCode,
  run,
  serverAccount,
} from "../../src/db/embedded/binaries.ts";
import { scratch } from "./scratch.ts";

/** A Postgres of the test's own, which may be stopped, crashed, frozen and limited. */
export type ThrowawayServer = AsyncDisposable & {
  /** The URL of its empty database `postgres`, for a role with all rights. */
  readonly url: string;
  start(limits?: ServerLimits): Promise<void>;
  /** `immediate` is a crash: nothing is flushed, and the next start recovers. */
  stop(mode: "fast" | "immediate"): Promise<void>;
  /** Signals the postmaster and every other process of the server. */
  signal(signal: "SIGSTOP" | "SIGCONT"): Promise<void>;
};

export type ServerLimits = {
  /** No file grows beyond this size: the same as a full disk to a table. */
  readonly fileBytesMax?: number;
};

// Below the ports that systems give to outgoing connections.
const [portMin, portMax] = [20_000, 32_000];
const stopLimitSeconds = 30;
// The unit of `ulimit -f`.
const blockBytes = 512;
/** The smallest {@link ServerLimits.fileBytesMax}: the size of a WAL segment. */
export const logFileBytes = 1024 * 1024;

type ServerOptions = {
  readonly settings?: Readonly<Record<string, string>>;
  /** Default the bundled ones. */
  readonly binaries?: Binaries | undefined;
  /** Where its data lies until its scope ends. */
  readonly folder?: string;
};

/** Creates and starts one, on a port of 127.0.0.1. */
export async function throwawayServer({
  settings = {},
  binaries,
  folder = scratch,
}: ServerOptions = {}): Promise<ThrowawayServer> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(folder, "bill-sync-server-"));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const account = await serverAccount(join(dir, "data"));
  const password = randomBytes(12).toString("hex");
  await writeFile(join(dir, "password"), password);
  for (const path of [join(dir, "password"), dir]) {
    if (account !== undefined) await chown(path, account.uid, account.gid);
    await chmod(path, 0o700);
  }
  const { initdb, pgCtl } = binaries ?? (await findBinaries(account));
  const tool = async (command: string, args: readonly string[]) => {
    const { ok, output } = await run(command, args, account);
    if (!ok) throw new Error(`${command} ${args.join(" ")}: ${output}`);
  };
  const data = join(dir, "data");
  await tool(initdb, [
    ...["-D", data, "-U", "bill_sync", `--pwfile=${join(dir, "password")}`],
    ...["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"],
    ...["--no-sync", `--wal-segsize=${logFileBytes / 1024 / 1024}`],
  ]);
  const port = await freePort();
  const own = { listen_addresses: "127.0.0.1", unix_socket_directories: "", fsync: "off" };
  const options = Object.entries({ ...own, ...settings, port: String(port) })
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(" ");
  const control = (...args: readonly string[]) => [
    pgCtl,
    "-D",
    data,
    "--silent",
    "--wait",
    ...args,
  ];
  const start = async ({ fileBytesMax }: ServerLimits = {}) => {
    const blocks = fileBytesMax === undefined ? "unlimited" : String(fileBytesMax / blockBytes);
    const command = control("start", "-l", join(dir, "server.log"), "-o", options);
    await tool("sh", ["-c", 'ulimit -f "$0" && exec "$@"', blocks, ...command]);
  };
  const stop = (mode: "fast" | "immediate") =>
    tool("env", control("stop", `--mode=${mode}`, `--timeout=${stopLimitSeconds}`));
  const signal = async (name: "SIGSTOP" | "SIGCONT") => {
    const postmaster = Number.parseInt(await readFile(join(data, "postmaster.pid"), "utf8"), 10);
    // First, so that it starts no more of them.
    signalProcess(postmaster, name);
    for (const pid of await childrenOf(postmaster)) signalProcess(pid, name);
  };
  await start();
  stack.defer(async () => {
    // After a failed test the server may be frozen, or stopped already.
    await signal("SIGCONT").catch(() => undefined);
    await stop("immediate").catch(() => undefined);
  });
  const cleanUp = stack.move();
  return {
    url: `postgres://bill_sync:${password}@127.0.0.1:${port}/postgres?sslmode=disable`,
    start,
    stop,
    signal,
    [Symbol.asyncDispose]: () => cleanUp.disposeAsync(),
  };
}

async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(portMin, portMax);
    const probe = createServer().listen(port, "127.0.0.1");
    const isFree = await once(probe, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    await new Promise((settle) => probe.close(settle));
    return port;
  }
}

/** Signals a process of a server, if it still exists. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!hasCode(error, "ESRCH")) throw error;
  }
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const { output } = await run("ps", ["-A", "-o", "pid=,ppid="]);
  return output
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([child, parent]) => (child !== undefined && parent === pid ? [child] : []));
}
