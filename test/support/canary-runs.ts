import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, escapeIdentifier } from "pg";
import { type OpenSandbox, openSandbox } from "../../src/sandbox/sandbox.ts";
import { canariesOf, canaryPassword, canarySearch, spellingsMax } from "./canaries.ts";
import {
  type CliEnvironment,
  environmentFor,
  type RunningCli,
  startCli,
  temporaryFolder,
} from "./cli.ts";
import { type TestDatabase, testDatabase } from "./database.ts";
import { serve } from "./exchange-client.ts";

/** What an exchange, or a proxy in front of it, does with the headers of a signed request. */
export type Echo = (response: ServerResponse, echoed: string, request: IncomingMessage) => void;

export type CanaryRun = {
  /** What goes wrong, by its name. */
  readonly failure?: string;
  readonly args: readonly string[];
  readonly echo?: Echo;
  /** Changes the environment; undefined removes a variable. */
  readonly env?: (given: CliEnvironment, secrets: Secrets) => CliEnvironment;
  /** Files that its folder has before, which are not searched. */
  readonly files?: (secrets: Secrets) => Readonly<Record<string, string | Uint8Array>>;
  /** What is done to it while it runs. Default: SIGTERM after {@link patienceMs}. */
  readonly act?: (running: RunningCli) => Promise<unknown>;
};

export type Secrets = Readonly<Record<"key" | "secret" | "passphrase" | "password", string>>;

/** Where a secret was found. */
export type Leak = { readonly run: string; readonly place: string; readonly canaries: number };

export type CanaryHouse = AsyncDisposable & {
  readonly secrets: Secrets;
  /** Runs the program and searches everything that it leaves behind. */
  run(wanted: CanaryRun): Promise<{
    readonly leaks: readonly Leak[];
    readonly stdout: string;
    readonly stderr: string;
    readonly files: readonly string[];
  }>;
  /** The same canaries each time: the number of signatures and files depends on chance. */
  readonly figures: () => {
    readonly secrets: number;
    readonly spellingsMax: number;
    readonly commands: number;
    readonly failures: number;
    readonly runs: number;
    readonly leaks: number;
  };
};

// Less than the time limit of a test: no such run takes that long.
const patienceMs = 40_000;
const afterEchoMs = 700;

/** A sandbox exchange and a database role, whose credentials must not be seen again. */
export async function openCanaryHouse(): Promise<CanaryHouse> {
  const stack = new AsyncDisposableStack();
  const seed = randomBytes(8).toString("hex");
  const sandbox = stack.use(await openSandbox({ seed, density: 0.02 }));
  const { account } = sandbox;
  const secrets: Secrets = {
    key: account.apiKey,
    secret: account.apiSecret,
    passphrase: account.apiPassphrase,
    password: canaryPassword(),
  };
  const role = stack.use(await openRole(secrets.password));
  const own = Object.values(secrets).flatMap(canariesOf);
  const counted = {
    commands: new Set<string>(),
    failures: new Set<string>(),
    runs: 0,
    leaks: 0,
  };
  return {
    secrets,
    async run(wanted) {
      const left = await runWith(wanted, { sandbox, secrets, role: role.name });
      const canaries = [...own, ...left.signatures.flatMap(canariesOf)];
      const search = canarySearch(canaries);
      counted.commands.add(wanted.args.find((word) => !word.startsWith("-")) ?? "");
      if (wanted.failure !== undefined) counted.failures.add(wanted.failure);
      counted.runs += 1;
      const run = [wanted.failure ?? "", ...wanted.args].join(" ").trim();
      const leaks = left.places
        .map(({ place, bytes }) => ({ run, place, canaries: search(bytes).length }))
        .filter((leak) => leak.canaries > 0);
      counted.leaks += leaks.length;
      return { leaks, ...left };
    },
    figures: () => ({
      secrets: Object.keys(secrets).length,
      spellingsMax,
      commands: counted.commands.size,
      failures: counted.failures.size,
      runs: counted.runs,
      leaks: counted.leaks,
    }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

type World = {
  readonly sandbox: OpenSandbox;
  readonly secrets: Secrets;
  readonly role: string;
};
type Place = { readonly place: string; readonly bytes: Buffer };

async function runWith(wanted: CanaryRun, { sandbox, secrets, role }: World) {
  await using database = await testDatabase();
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  const signatures: string[] = [];
  const echoed = Promise.withResolvers<void>();
  await using front = await serve((response, request) => {
    const signature = request.headers["access-sign"];
    if (signature === undefined || wanted.echo === undefined) {
      if (signature !== undefined) signatures.push(String(signature));
      void forward(sandbox.url, request, response);
      return;
    }
    signatures.push(String(signature));
    wanted.echo(response, echoOf(request, secrets), request);
    echoed.resolve();
  });
  const url = Object.assign(new URL(database.url), {
    username: role,
    password: encodeURIComponent(secrets.password),
  });
  const given = environmentFor(
    { ...sandbox, url: front.url },
    { url: url.href },
    {
      PRODUCT_TYPES: "USDT-FUTURES",
      SYNC_LTV: "true",
      LOG_LEVEL: "trace",
      NODE_OPTIONS: `--report-on-signal --report-uncaught-exception --report-on-fatalerror --report-directory=${cwd}`,
    },
  );
  const env = { ...given, ...wanted.env?.(given, secrets) };
  const files = wanted.files?.(secrets) ?? {};
  for (const [path, text] of Object.entries(files)) await writeFile(join(cwd, path), text);
  await mkdir(join(cwd, "data"), { recursive: true });

  await using running = await startCli(wanted.args, { env, cwd });
  const act = wanted.act ?? (wanted.echo === undefined ? patience : stopAfter(echoed.promise));
  const commandLine = await readFile(`/proc/${running.pid}/cmdline`).catch(() => Buffer.alloc(0));
  await Promise.race([running.ended, act(running)]);
  const { stdout, stderr } = await running.ended;

  const written = (await filesIn(cwd)).filter((path) => !(path in files));
  const places: Place[] = [
    { place: "stdout", bytes: Buffer.from(stdout) },
    { place: "stderr", bytes: Buffer.from(stderr) },
    { place: "the command line", bytes: commandLine },
    ...(await tablesOf(database)),
  ];
  for (const path of written) places.push({ place: path, bytes: await readFile(join(cwd, path)) });
  return { stdout, stderr, files: written, places, signatures };
}

/**
 * An echo is repeated in every answer: once it was printed, and perhaps stored, the run may end.
 */
const stopAfter =
  (echoed: Promise<void>) =>
  async (running: RunningCli): Promise<void> => {
    await echoed;
    await sleep(afterEchoMs, undefined, { ref: false });
    running.kill("SIGTERM");
  };

async function patience(running: RunningCli): Promise<void> {
  await sleep(patienceMs, undefined, { ref: false });
  running.kill("SIGTERM");
}

/** What a proxy sees of a request, and what the exchange itself knows. */
const echoOf = (request: IncomingMessage, { secret }: Secrets): string =>
  [
    ...Object.entries(request.headers)
      .filter(([name]) => name.startsWith("access-"))
      .map(([name, value]) => `${name}: ${value}`),
    `secret: ${secret}`,
  ].join("\n");

async function forward(url: string, request: IncomingMessage, response: ServerResponse) {
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
  const answer = await fetch(`${url}${request.url}`, {
    headers: headers.filter(([name]) => name?.startsWith("access-") || name === "paptrading") as [
      string,
      string,
    ][],
  });
  response.writeHead(answer.status).end(await answer.text());
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

/**
 * Every row of every table as text, including the migrations' journal and the catalogue's comments.
 */
async function tablesOf({ url }: TestDatabase): Promise<readonly Place[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(`
      select format('%I.%I', schemaname, tablename) as name
      from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema')
      union all values ('pg_catalog.pg_description'), ('pg_catalog.pg_db_role_setting')`);
    const places: Place[] = [];
    for (const { name } of rows) {
      const found = await client.query<{ text: string | null }>(
        `select string_agg(t::text, e'\\n') as text from ${name} as t`,
      );
      places.push({ place: `table ${name}`, bytes: Buffer.from(found.rows[0]?.text ?? "") });
    }
    return places;
  } finally {
    await client.end();
  }
}

/** A role with this password, and with all the rights of the role of the tests. */
async function openRole(password: string): Promise<AsyncDisposable & { readonly name: string }> {
  const name = `canary_${process.pid}_${randomBytes(4).toString("hex")}`;
  const database = await testDatabase();
  const run = async (statement: string) => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query(statement).finally(() => client.end());
  };
  const identifier = escapeIdentifier(name);
  const literal = `'${password.replaceAll("'", "''")}'`;
  await run(`
    create role ${identifier} login password ${literal};
    do $$ begin execute format('grant %I to ${name}', current_user); end $$`);
  return {
    name,
    async [Symbol.asyncDispose]() {
      await run(`drop role ${identifier}`);
      await database[Symbol.asyncDispose]();
    },
  };
}
