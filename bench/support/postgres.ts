import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { openEmbedded } from "../../src/wings/embedded/embedded.ts";
import { migrateAt } from "../../test/support/migrate-at.ts";

export type BenchServer = AsyncDisposable & {
  readonly version: string;
  /** The CPU seconds of all its processes so far; undefined if it is on another machine. */
  cpuSeconds(): Promise<number | undefined>;
  /** Creates a migrated database, which is dropped with its scope. */
  database(): Promise<BenchDatabase>;
};

export type BenchDatabase = AsyncDisposable & { readonly url: string; readonly client: pg.Client };

/**
 * The server of BENCH_DATABASE_URL, else an embedded one with the settings that users have: every
 * commit goes to disk.
 */
export async function openBenchServer(): Promise<BenchServer> {
  const given = process.env["BENCH_DATABASE_URL"];
  const stack = new AsyncDisposableStack();
  const url = given ?? (await embedded(stack));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  stack.defer(() => client.end());
  const { rows } = await client.query(
    "select current_setting('server_version') as version, pg_backend_pid() as pid",
  );
  const backend = Number(rows[0]?.pid);
  return {
    version: String(rows[0]?.version),
    cpuSeconds: () => serverCpuSeconds(backend),
    database: () => makeDatabase(url, client),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function embedded(stack: AsyncDisposableStack): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), "bill-sync-bench-"));
  // If this runs as root, the server runs as another user.
  await chmod(dataDir, 0o755);
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  return stack.use(await openEmbedded({ dataDir })).url;
}

const ticksASecond = 100;

/** Of the postmaster and all its children, including those that have ended. */
async function serverCpuSeconds(backend: number): Promise<number | undefined> {
  try {
    const statOf = async (pid: number | string) => {
      const text = await readFile(`/proc/${pid}/stat`, "utf8");
      return text
        .slice(text.lastIndexOf(")") + 2)
        .split(" ")
        .map(Number);
    };
    const [, parent = 0] = await statOf(backend);
    const children = await readFile(`/proc/${parent}/task/${parent}/children`, "utf8");
    const [, , , , , , , , , , , user = 0, system = 0, endedUser = 0, endedSystem = 0] =
      await statOf(parent);
    let ticks = user + system + endedUser + endedSystem;
    for (const child of children.trim().split(" ")) {
      // A process may end meanwhile.
      const stat = await statOf(child).catch(() => []);
      ticks += (stat[11] ?? 0) + (stat[12] ?? 0);
    }
    return ticks / ticksASecond;
  } catch {
    return undefined;
  }
}

let made = 0;

async function makeDatabase(serverUrl: string, server: pg.Client): Promise<BenchDatabase> {
  made += 1;
  const name = `bill_sync_bench_${process.pid}_${made}`;
  await server.query(`create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await migrateAt(url.href);
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  return {
    url: url.href,
    client,
    async [Symbol.asyncDispose]() {
      await client.end();
      await server.query(`drop database ${name} with (force)`);
    },
  };
}
