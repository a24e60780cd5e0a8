import { randomBytes, randomInt } from "node:crypto";
import { chmod, chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import {
  type Binaries,
  findBinaries,
  run,
  serverAccount,
} from "../../src/wings/embedded/binaries.ts";
import { listening } from "./listening.ts";
import { scratch } from "./scratch.ts";

// Below the ports that systems give to outgoing connections.
const [portMin, portMax] = [20_000, 32_000];
const stopLimitSeconds = 30;

/** Creates and starts a Postgres of the test's own, which may be stopped and crashed, on a port of 127.0.0.1. */
export async function throwawayServer({
  settings = {},
  binaries,
  folder = scratch,
}: {
  readonly settings?: Readonly<Record<string, string>>;
  /** Default the bundled ones. */
  readonly binaries?: Binaries | undefined;
  /** Where its data lies until its scope ends. */
  readonly folder?: string;
} = {}) {
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
    ...["--no-sync", "--wal-segsize=1"],
  ]);
  const port = await freePort();
  const own = { listen_addresses: "127.0.0.1", unix_socket_directories: "", fsync: "off" };
  const options = Object.entries({ ...own, ...settings, port: String(port) })
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(" ");
  const control = (...args: readonly string[]) => [
    ...[pgCtl, "-D", data, "--silent", "--wait", ...args],
  ];
  const start = () => tool("env", control("start", "-l", join(dir, "server.log"), "-o", options));
  const stop = (mode: "fast" | "immediate") =>
    tool("env", control("stop", `--mode=${mode}`, `--timeout=${stopLimitSeconds}`));
  await start();
  stack.defer(async () => {
    // After a failed test the server may be stopped already.
    await stop("immediate").catch(() => undefined);
  });
  const cleanUp = stack.move();
  return {
    /** The URL of its empty database `postgres`, for a role with all rights. */
    url: `postgres://bill_sync:${password}@127.0.0.1:${port}/postgres?sslmode=disable`,
    start,
    /** `immediate` is a crash: nothing is flushed, and the next start recovers. */
    stop,
    [Symbol.asyncDispose]: () => cleanUp.disposeAsync(),
  };
}

async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(portMin, portMax);
    const probe = await listening(createServer(), port).catch(() => undefined);
    await probe?.[Symbol.asyncDispose]();
    if (probe !== undefined) return port;
  }
}
