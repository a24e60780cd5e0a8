// Holds: Quiet secrets

import { randomBytes } from "node:crypto";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { escapeIdentifier } from "pg";
import { expect, test } from "vitest";
import { openDatabase } from "../src/core/postgres/connect.ts";
import { dayMs } from "../src/lib/time.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import { canariesOf, canaryPassword, canarySearch } from "./support/canaries.ts";
import {
  type CliEnvironment,
  type CliOptions,
  environmentFor,
  type RunningCli,
  runCli,
  startCli,
  temporaryFolder,
} from "./support/cli.ts";
import { commandsByName } from "./support/command-tree.ts";
import { testDatabase } from "./support/database.ts";
import { give, serve } from "./support/exchange-client.ts";
import { query } from "./support/query.ts";

const maxMs = 10 * 60_000;
const crasher = fileURLToPath(new URL("support/crash-at-request.ts", import.meta.url));

type Secrets = Readonly<Record<"key" | "secret" | "passphrase" | "password", string>>;
type Echo = (response: ServerResponse, echoed: string, request: IncomingMessage) => void;
type Place = { readonly place: string; readonly bytes: Buffer };

/** A sandbox exchange, a database role and a folder: no run of the program may leave a secret of them anywhere. */
async function openWorld() {
  const stack = new AsyncDisposableStack();
  const seed = randomBytes(8).toString("hex");
  const sandbox = stack.use(await openSandbox({ seed, density: 0.02 }));
  const { apiKey, apiSecret, apiPassphrase } = sandbox.account;
  const password = canaryPassword();
  const secrets = { key: apiKey, secret: apiSecret, passphrase: apiPassphrase, password };
  const database = stack.use(await testDatabase());
  const role = await makeRole(database.url, password);
  stack.defer(async () => {
    await query(database.url, `drop owned by ${role}; drop role ${role}`);
  });
  const { path: cwd } = stack.use(await temporaryFolder());
  const signatures = new Set<string>();
  const places: Place[] = [];
  const planted = new Map<string, string | Uint8Array>();
  let echo: Echo | undefined;
  let echoed = Promise.withResolvers<void>();
  const front = stack.use(
    await serve((response, request) => {
      const signature = request.headers["access-sign"];
      if (signature !== undefined) signatures.add(String(signature));
      if (signature === undefined || echo === undefined) {
        void forward(sandbox.url, request, response);
        return;
      }
      echo(response, echoOf(request, secrets), request);
      echoed.resolve();
    }),
  );
  const url = new URL(database.url);
  Object.assign(url, { username: role, password: encodeURIComponent(password) });
  const env = environmentFor(
    { ...sandbox, url: front.url },
    { url: url.href },
    { PRODUCT_TYPES: "USDT-FUTURES", SYNC_LTV: "true", LOG_LEVEL: "trace" },
  );
  const { db } = stack.use(openDatabase(database.url));
  /** Otherwise a run waits to see whether one that was killed is alive. */
  const forgetHolders = () => db.execute("delete from leases");
  const keep = (name: string, { stdout, stderr }: Record<"stdout" | "stderr", string>) => {
    places.push({ place: `${name}: stdout`, bytes: Buffer.from(stdout) });
    places.push({ place: `${name}: stderr`, bytes: Buffer.from(stderr) });
  };
  return {
    ...{ secrets, env, cwd },
    /** Files that the program finds in its folder, which are not searched. */
    async plant(files: Readonly<Record<string, string | Uint8Array>>) {
      for (const path of planted.keys()) await rm(join(cwd, path), { force: true });
      for (const [path, text] of Object.entries(files)) {
        planted.set(path, text);
        await writeFile(join(cwd, path), text);
      }
    },
    async run(args: readonly string[], changes: CliEnvironment = {}, options: CliOptions = {}) {
      await forgetHolders();
      const end = await runCli(args, { env: { ...env, ...changes }, cwd, ...options });
      keep(args.join(" "), end);
      return end;
    },
    /** In a process of its own, to which something is done while it runs. */
    async start(
      name: string,
      changes: CliEnvironment,
      act: (running: RunningCli) => Promise<unknown>,
    ) {
      await forgetHolders();
      await using running = await startCli(["sync"], { env: { ...env, ...changes }, cwd });
      await Promise.race([running.ended, act(running)]);
      const end = await running.ended;
      keep(name, end);
      return end;
    },
    /** Has the exchange repeat what it is sent. @returns what ends soon after it did. */
    repeat(by: Echo | undefined): Promise<void> {
      echo = by;
      echoed = Promise.withResolvers();
      return echoed.promise.then(() => sleep(300));
    },
    /** Where secrets and signatures were found: in what was printed, in files and in tables. */
    async leaks() {
      const files = (await filesIn(cwd)).filter((path) => !planted.has(path));
      for (const path of files)
        places.push({ place: path, bytes: await readFile(join(cwd, path)) });
      places.push(...(await tablesOf(database.url)));
      const search = canarySearch([...Object.values(secrets), ...signatures].flatMap(canariesOf));
      // The search itself works: in a half, in another case, and within another base64.
      for (const text of [password.slice(0, 17), apiSecret.toUpperCase(), btoa(`u:${apiKey}@h`)])
        expect(search(Buffer.from(`before ${text} after`))).toBe(true);
      const found = places.filter(({ bytes }) => search(bytes));
      return { leaks: found.map(({ place }) => place), files, signatures: signatures.size };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
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
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    name.startsWith("access-") || name === "paptrading" ? [[name, String(value)]] : [],
  );
  const answer = await fetch(`${url}${request.url}`, { headers: headers as [string, string][] });
  response.writeHead(answer.status).end(await answer.text());
}

async function filesIn(folder: string): Promise<readonly string[]> {
  return (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

/** Every row of every table as text, including the migrations' journal and the catalogue's comments. */
async function tablesOf(url: string): Promise<readonly Place[]> {
  const tables = await query<{ name: string }>(
    url,
    `select format('%I.%I', schemaname, tablename) as name
     from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')
     union all values ('pg_catalog.pg_description'), ('pg_catalog.pg_db_role_setting')`,
  );
  const texts = await query<{ name: string; text: string | null }>(
    url,
    tables
      .map(
        ({ name }) =>
          `select '${name}' as name, string_agg(t::text, e'\\n') as text from ${name} as t`,
      )
      .join(" union all "),
  );
  return texts.map(({ name, text }) => ({
    place: `table ${name}`,
    bytes: Buffer.from(text ?? ""),
  }));
}

/** A role with this password, and with all the rights of the role of the tests. */
async function makeRole(url: string, password: string): Promise<string> {
  const name = `canary_${process.pid}_${randomBytes(4).toString("hex")}`;
  await query(
    url,
    `create role ${escapeIdentifier(name)} login password '${password.replaceAll("'", "''")}';
     do $$ begin execute format('grant %I to ${name}', current_user); end $$`,
  );
  return name;
}

const dayBefore = (days: number): string =>
  new Date(Date.now() - days * dayMs).toISOString().slice(0, 10);
/** A restore needs an empty database: the embedded Postgres. */
const embedded = { DATABASE_URL: "" };

/** Each command where nothing is wrong, in this order; with --json as well where it has that. */
const walk = `
  sync --dry-run, sync, sync --only bills+ltv, status, status --format prometheus, reconcile, breaks, breaks list,
  verify --from ${dayBefore(2)} --to ${dayBefore(1)} --repair, breaks accept 1 --note known, breaks reopen 1,
  export --format csv, report --month ${dayBefore(2).slice(0, 7)} --format text,
  report --month ${dayBefore(2).slice(0, 7)} --format html, doctor, types, types set gift bonus, types unset gift, mirror-keys,
  mirror-keys add bot, mirror-keys list, mirror-keys remove bot, db url, db migrate, db backup ledger.gz --force, db restore ledger.gz, db,
  serve --port 0, worker --every 1h, sandbox, demo, accounts, accounts list,
  accounts retire another, accounts retire --undo another, accounts rename another other`
  .trim()
  .split(/,\s+/)
  .map((words) => words.replace("+", ",").split(" "));
const special: Readonly<Record<string, CliOptions>> = {
  "db restore": { env: embedded },
  db: { env: embedded, until: /postgres/ },
  serve: { until: /http/ },
  worker: { until: /working off the queue[\s\S]*reconcile/, maxMs: 3_000 },
  sandbox: { until: /is up/ },
  demo: { until: /bill-sync sync/ },
};

test(
  "no command that the program has shows a secret, nor does its help",
  async () => {
    await using world = await openWorld();
    const names = [...commandsByName.keys()].filter((name) => name !== "help");
    const walked = new Set<string>();
    for (const words of walk) {
      const [name = ""] = [words.slice(0, 2).join(" "), words[0] ?? ""].filter((name) =>
        commandsByName.has(name),
      );
      walked.add(name);
      const { env = {}, ...options } = special[name] ?? {};
      const hasJson = commandsByName.get(name)?.options.some(({ long }) => long === "--json");
      for (const json of hasJson ? [[], ["--json"]] : [[]]) {
        const { stdout, stderr } = await world.run([...words, ...json], env, options);
        expect(`${words}: ${stdout}${stderr}`).not.toMatch(/: $/);
      }
      await world.run([...name.split(" "), "--help"]);
    }
    expect([...walked].toSorted()).toEqual(names.toSorted());
    // Into the embedded Postgres, whose files are searched.
    const { stdout } = await world.run(["sync"], embedded);
    expect(stdout).toMatch(/complete, after/);
    const { leaks, files, signatures } = await world.leaks();
    expect(leaks).toEqual([]);
    expect(files.length).toBeGreaterThan(500);
    expect(signatures).toBeGreaterThan(10);
  },
  maxMs,
);

const secretOf = (echoed: string): string => /^secret: (.*)$/m.exec(echoed)?.[1] ?? "";
/** For bills and for loan-to-value. */
const page = (rows: unknown, more: object = {}) => ({
  ...{ code: "00000", msg: "success", requestTime: Date.now() },
  data: { bills: rows, endId: null, ltv: "0.1", unpaidInfo: rows, ...more },
});
const bill = (but: object, index = 0) => ({
  ...{ billId: String(Date.now() + index), symbol: "BTCUSDT", amount: "1", fee: "0" },
  ...{ feeByCoupon: "", businessType: "open_long", coin: "USDT", balance: "1" },
  ...{ cTime: String(Date.now()), ...but },
});

/** Bills with it in each of their places. */
const billsWith = (echoed: string, { headers }: IncomingMessage): readonly object[] => {
  const secret = secretOf(echoed);
  return [
    { symbol: secret, coin: secret },
    { debug: { headers: echoed } },
    { [secret]: "1" },
    { amount: secret },
    { symbol: "@@" },
    { symbol: Buffer.from(echoed).toString("base64").slice(0, 190) },
    { symbol: headers["access-passphrase"] },
    { coin: headers["access-sign"] },
  ].map(bill);
};
const inEscapes = (text: string): string =>
  [...text].map((sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");

/** Where an exchange, or a proxy, may repeat what it was sent, so that it is stored; others: client-secrets.test.ts. */
const echoes: Readonly<Record<string, Echo>> = {
  "a refusal's message": (response, msg) =>
    give(response, { status: 400, body: { code: "40009", msg } }),
  "a Retry-After": (response, echoed) =>
    give(response, { status: 429, headers: { "retry-after": secretOf(echoed) }, body: "" }),
  "a page with it for a list": (response, echoed) =>
    give(response, { body: page(echoed, { [echoed]: echoed }) }),
  "bills, one of which spells it in escapes": (response, echoed, request) => {
    const body = JSON.stringify(page(billsWith(echoed, request)));
    give(response, { body: body.replaceAll("@@", inEscapes(secretOf(echoed))) });
  },
  "the cursor": (response, echoed) =>
    give(response, { body: page([bill({})], { endId: secretOf(echoed) }) }),
};

test(
  "an exchange that repeats what it was sent, in any place, makes no command show or store it",
  async () => {
    await using world = await openWorld();
    for (const [failure, echo] of Object.entries(echoes)) {
      const until = world.repeat(echo);
      const { stdout } = await world.run(["sync", "--only", "bills,ltv"], {}, { until });
      expect(`${failure}: ${stdout}`).toMatch(/FAILED|NOT complete|FAIL|stopped/);
    }
    expect((await world.leaks()).leaks).toEqual([]);
  },
  maxMs,
);

/** Variables that are wrong. */
const settingsOf = ({ key, secret, password }: Secrets): readonly CliEnvironment[] => [
  { EXCHANGE_API_KEY: "bg_0123456789abcdef" },
  { EXCHANGE_API_SECRET: "0123456789abcdef" },
  { EXCHANGE_API_SECRET: `${secret}\u00e9` },
  { EXCHANGE_API_SECRT: secret, EXCHANGE_API_SECRET: undefined },
  { EXCHANGE_BASE_URL: `https://${key}:${secret}@api.example` },
  { DATABASE_URL: `postgres://user:12/${encodeURIComponent(password)}@127.0.0.1:1/ledger` },
  { DATABASE_URL: `postgres://user:1#${password}@127.0.0.1/ledger` },
  { DATABASE_URL: `mysql://user:${password}@127.0.0.1/ledger` },
];

test(
  "a wrong configuration is told without a secret",
  async () => {
    await using world = await openWorld();
    // It ends every command before it begins, but for doctor, which reports it.
    for (const changes of settingsOf(world.secrets))
      for (const command of ["sync", "doctor"]) {
        const { stdout, stderr } = await world.run([command], changes);
        expect(`${JSON.stringify(changes)}, ${command}: ${stdout}${stderr}`).toMatch(/: .{20}/s);
      }
    const { key, secret, passphrase } = world.secrets;
    await world.plant({
      ".env": `EXCHANGE_API_KEY='${key}\nEXCHANGE_API_SECRET ${secret}\n=${passphrase}\n${secret}`,
    });
    await world.run(["sync"], { EXCHANGE_API_KEY: undefined, LOG_LEVEL: "loud" });
    expect((await world.leaks()).leaks).toEqual([]);
  },
  maxMs,
);

test(
  "a crash, a report of one, a signal, a reader that is gone and a debug log show no secret",
  async () => {
    await using world = await openWorld();
    const reporting =
      "--report-on-signal --report-uncaught-exception --report-on-fatalerror --report-directory=.";
    const patiently = (running: RunningCli) => sleep(maxMs, running, { ref: false });
    const crash = (kind: string) =>
      world.start(
        kind,
        { NODE_OPTIONS: `${reporting} --import ${crasher} --max-old-space-size=96`, CRASH: kind },
        patiently,
      );
    const planned = async (running: RunningCli) => await running.seen("stderr", /"planned"/);
    for (const kind of ["exception", "rejection"])
      expect((await crash(kind)).stderr).toMatch(/^defect: Error: a defect\n/m);
    await crash("memory");
    await world.start("a report", { NODE_OPTIONS: reporting }, async (running) => {
      await planned(running);
      running.kill("SIGUSR2");
      await sleep(1_000);
      running.kill("SIGTERM");
    });
    await world.start("a reader that is gone", {}, async (running) => {
      running.close("stderr");
      await running.ended;
    });
    await world.start("NODE_DEBUG", { NODE_DEBUG: "*" }, patiently);
    const unchecked = { NODE_TLS_REJECT_UNAUTHORIZED: "0" };
    expect((await world.start("no certificate check", unchecked, patiently)).stderr).toMatch(
      /^NODE_TLS_REJECT_UNAUTHORIZED=0 is ignored: certificates are verified/,
    );
    const { leaks, files } = await world.leaks();
    expect(leaks).toEqual([]);
    expect(files.filter((path) => /^report\..*\.json$/.test(path)).length).toBeGreaterThan(1);
  },
  maxMs,
);
