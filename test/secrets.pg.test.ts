import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dayMs } from "../src/contract/time.ts";
import { canariesOf, canaryPassword, canarySearch, spellingsMax } from "./support/canaries.ts";
import { type CanaryHouse, type CanaryRun, openCanaryHouse } from "./support/canary-runs.ts";
import { type CliEnvironment, type RunningCli, runCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { echoes } from "./support/echoes.ts";

const lanes = 4;
const maxMs = 10 * 60_000;
const crasher = fileURLToPath(new URL("support/crash-at-request.ts", import.meta.url));

let house: CanaryHouse;
beforeAll(async () => {
  house = await openCanaryHouse();
  await using database = await testDatabase();
  await using folder = await temporaryFolder();
  const made = join(folder.path, "given.gz");
  expect(
    await runCli(["db", "backup", made], { env: { DATABASE_URL: database.url } }),
  ).toMatchObject({
    code: 0,
  });
  backup = await readFile(made);
});
afterAll(async () => {
  const { secrets, spellingsMax, commands, failures, runs, leaks } = house.figures();
  process.stdout.write(
    `${secrets} secrets and each request's signature, in up to ${spellingsMax} spellings and by ` +
      `halves, searched in all that ${runs} runs left behind, of ${commands} commands and ` +
      `${failures} failures: ${leaks === 0 ? "none" : leaks} found\n`,
  );
  await house[Symbol.asyncDispose]();
});

/** Runs all of them, a few at a time. @returns the secrets that were found, and what each command left. */
async function runAll(runs: readonly CanaryRun[]) {
  const waiting = [...runs];
  const ends: (Awaited<ReturnType<CanaryHouse["run"]>> & { wanted: CanaryRun })[] = [];
  const lane = async () => {
    for (let wanted = waiting.shift(); wanted !== undefined; wanted = waiting.shift()) {
      ends.push({ wanted, ...(await house.run(wanted)) });
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  expect(ends.flatMap(({ leaks }) => leaks)).toEqual([]);
  return ends;
}

const seenThenStop =
  (stream: "stdout" | "stderr", pattern: RegExp, afterMs = 0, signal: NodeJS.Signals = "SIGINT") =>
  async (running: RunningCli) => {
    await running.seen(stream, pattern);
    await sleep(afterMs);
    running.kill(signal);
  };

const dayBefore = (days: number): string =>
  new Date(Date.now() - days * dayMs).toISOString().slice(0, 10);

let backup: Buffer;
const givenBackup = () => ({ "given.gz": backup });
/** A restore needs an empty database: the embedded Postgres. */
const noDatabase = () => ({ DATABASE_URL: "" });

/** How each command is run where nothing is wrong. A command that is missing here fails the test. */
const commands: Readonly<Record<string, readonly Omit<CanaryRun, "failure">[]>> = {
  sync: [
    { args: ["sync", "--dry-run"] },
    { args: ["sync", "--dry-run", "--json"] },
    { args: ["sync"] },
    { args: ["sync", "--json", "--only", "bills,ltv"] },
  ],
  status: [
    { args: ["status"] },
    { args: ["status", "--json"] },
    { args: ["status", "--format", "prometheus"] },
  ],
  export: [{ args: ["export", "--format", "csv"] }, { args: ["export", "--format", "ccxt"] }],
  verify: [
    { args: ["verify", "--from", dayBefore(2), "--to", dayBefore(1), "--repair"] },
    { args: ["verify", "--from", dayBefore(2), "--to", dayBefore(1), "--json"] },
  ],
  breaks: [
    { args: ["breaks", "list"] },
    { args: ["breaks", "list", "--json"] },
    { args: ["breaks", "accept", "1", "--note", "known"] },
    { args: ["breaks", "reopen", "1"] },
  ],
  reconcile: [{ args: ["reconcile"] }, { args: ["reconcile", "--json"] }],
  report: ["text", "html", "json"].map((format) => ({
    args: ["report", "--month", dayBefore(2).slice(0, 7), "--format", format],
  })),
  accounts: [
    { args: ["accounts", "list"] },
    { args: ["accounts", "list", "--json"] },
    { args: ["accounts", "add", "another"] },
    { args: ["accounts", "pause", "main"] },
  ],
  doctor: [{ args: ["doctor"] }, { args: ["doctor", "--json"] }],
  db: [
    { args: ["db", "url"] },
    { args: ["db", "migrate"] },
    { args: ["db", "backup", "ledger.gz"] },
    { args: ["db", "backup", "ledger.gz", "--json"] },
    { args: ["db", "restore", "given.gz"], env: noDatabase, files: givenBackup },
    { args: ["db", "restore", "given.gz", "--json"], env: noDatabase, files: givenBackup },
    { args: ["db", "distribute", "--dry-run"] },
  ],
  types: [{ args: ["types"] }, { args: ["types", "--json"] }],
  serve: [{ args: ["serve", "--port", "0"], act: seenThenStop("stdout", /http/) }],
  keys: [{ args: ["keys", "list"] }, { args: ["keys", "list", "--json"] }],
  worker: [
    {
      args: ["worker", "--every", "1h"],
      act: seenThenStop("stderr", /working off the queue/, 1_500),
    },
  ],
  sandbox: [{ args: ["sandbox"], act: seenThenStop("stderr", /is up/) }],
  demo: [{ args: ["demo"], act: seenThenStop("stdout", /bill-sync sync/, 1_500) }],
  help: [{ args: ["help"] }],
};

const groups = ["accounts", "breaks", "db", "keys"];
/** "sync", or "db backup" where the first word is a group of commands. */
const commandOf = ([name = "", part = ""]: readonly string[]): string =>
  groups.includes(name) ? `${name} ${part}` : name;

async function commandsOf(text: string): Promise<readonly string[]> {
  const [, list = ""] = /\nCommands:\n(.*?)\n\n/s.exec(text) ?? [];
  return [...list.matchAll(/^ {2}(\w[\w-]*)/gm)].map(([, name = ""]) => name);
}

test("a canary is found in each of its spellings, by its halves, and in any case", () => {
  const password = canaryPassword();
  const canaries = canariesOf(password);
  // Each spelling whole and in halves, without repetitions.
  expect(canaries.length).toBeLessThanOrEqual(3 * spellingsMax);
  expect(canaries.length).toBeGreaterThan(2 * spellingsMax);
  const search = canarySearch(canaries);
  const packed = Buffer.from(`user:${password}@host`).toString("base64");
  for (const text of [...canaries, packed, password.toUpperCase(), `x${password.slice(0, 17)}y`]) {
    expect(search(Buffer.from(`text before ${text} and after`))).not.toEqual([]);
  }
  expect(search(Buffer.from(canaryPassword()))).toEqual([]);
});

test(
  "no command that the program has shows a secret, nor does its help",
  async () => {
    const help = await runCli(["--help"]);
    const names = await commandsOf(help.stdout);
    expect(names.toSorted()).toEqual(Object.keys(commands).toSorted());
    const runs = Object.values(commands).flat();
    const tried = new Set(runs.map(({ args }) => commandOf(args)));
    const ends = await runAll(runs);
    for (const { wanted, stdout, stderr } of ends) {
      expect(`${wanted.args}: ${stdout}${stderr}`).not.toMatch(/: $/);
    }
    tried.delete("help");
    const { key, secret, passphrase, password } = house.secrets;
    const env = {
      ...{ EXCHANGE_API_KEY: key, EXCHANGE_API_SECRET: secret },
      ...{ EXCHANGE_API_PASSPHRASE: passphrase, DATABASE_URL: `postgres://u:${password}@h/l` },
    };
    for (const name of tried) {
      const { stdout, stderr } = await runCli([...name.split(" "), "--help"], { env });
      for (const secret of Object.values(house.secrets))
        expect(stdout + stderr).not.toContain(secret);
      const isTried = runs.some(({ args }) => commandOf(args) === name && args.includes("--json"));
      expect({ name, isTried }).toEqual({ name, isTried: /--json/.test(stdout) });
    }
  },
  maxMs,
);

test(
  "a whole sync into the embedded Postgres leaves no secret in its files",
  async () => {
    const [end] = await runAll([
      {
        args: ["sync"],
        env: () => ({ DATABASE_URL: undefined }),
        act: (running) => sleep(maxMs, running, { ref: false }),
      },
    ]);
    expect(end?.stdout).toMatch(/complete, after/);
    expect(end?.files.length).toBeGreaterThan(500);
  },
  maxMs,
);

test(
  "an exchange that repeats what it was sent, in any place, makes no command show or store it",
  async () => {
    const runs = Object.entries(echoes).flatMap(([failure, echo], index) =>
      [["sync", "--only", "bills,ltv"], ["doctor"]]
        // Every fourth failure for doctor, since it uses the same client and prints its messages.
        .filter(([command]) => command === "sync" || index % 4 === 0)
        .map((args) => ({ failure, args, echo })),
    );
    const ends = await runAll(runs);
    for (const { wanted, stdout } of ends) {
      expect(`${wanted.failure}: ${stdout}`).toMatch(/FAILED|NOT complete|FAIL|stopped/);
    }
  },
  maxMs,
);

const wrong = (name: string, value: string) => () => ({ [name]: value });
const credentialFailures: readonly CanaryRun[] = [
  ["a wrong key", "EXCHANGE_API_KEY", "bg_0123456789abcdef"],
  ["a wrong secret", "EXCHANGE_API_SECRET", "0123456789abcdef"],
  ["a wrong passphrase", "EXCHANGE_API_PASSPHRASE", "0123456789"],
].flatMap(([failure = "", name = "", value = ""]) =>
  [["sync"], ["doctor"]].map((args) => ({ failure, args, env: wrong(name, value) })),
);

const changedUrl =
  (change: (url: URL) => unknown) =>
  ({ DATABASE_URL = "" }: CliEnvironment) => {
    const url = new URL(DATABASE_URL);
    change(url);
    return { DATABASE_URL: url.href };
  };

const closedPort = async (): Promise<string> => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((settle) => server.once("listening", settle));
  const address = server.address();
  await new Promise((settle) => server.close(settle));
  return typeof address === "object" ? String(address?.port) : "";
};

async function databaseFailures(): Promise<readonly CanaryRun[]> {
  const port = await closedPort();
  const failures: readonly [string, NonNullable<CanaryRun["env"]>][] = [
    ["a database that is away", changedUrl((url) => Object.assign(url, { port }))],
    ["no such role", changedUrl((url) => Object.assign(url, { username: "nobody_there" }))],
    ["no such database", changedUrl((url) => Object.assign(url, { pathname: "/nowhere" }))],
    ["no such host", changedUrl((url) => Object.assign(url, { hostname: "db.invalid" }))],
    ["no TLS there", changedUrl(({ searchParams }) => searchParams.set("sslmode", "require"))],
    [
      "no certificate",
      changedUrl(({ searchParams }) => searchParams.set("sslrootcert", "/no.pem")),
    ],
    [
      "no writes",
      changedUrl(({ searchParams }) =>
        searchParams.set("options", "-cdefault_transaction_read_only=on"),
      ),
    ],
    [
      "another schema",
      changedUrl(({ searchParams }) => searchParams.set("options", "-csearch_path=nowhere")),
    ],
    [
      "no database but an exchange",
      ({ EXCHANGE_BASE_URL = "", DATABASE_URL = "" }) => ({
        DATABASE_URL: Object.assign(new URL(DATABASE_URL), {
          host: new URL(EXCHANGE_BASE_URL).host,
        }).href,
      }),
    ],
  ];
  const commands = [
    ["sync"],
    ["status"],
    ["doctor"],
    ["db", "migrate"],
    ["sync", "--dry-run"],
    ["db", "url"],
  ];
  return failures.flatMap(([failure, env], index) =>
    // One command for each failure, and each command at least once.
    commands
      .filter((_, at) => at === index % commands.length)
      .map((args) => ({ failure, args, env })),
  );
}

const account = ({ key, secret, passphrase }: CanaryHouse["secrets"]) => ({
  name: "main",
  apiKey: key,
  apiSecret: secret,
  apiPassphrase: passphrase,
});
const noOwnAccount = {
  EXCHANGE_API_KEY: undefined,
  EXCHANGE_API_SECRET: undefined,
  EXCHANGE_API_PASSPHRASE: undefined,
  SYNC_LTV: undefined,
};
const withAccounts = (
  text: (secrets: CanaryHouse["secrets"]) => string,
): Omit<CanaryRun, "args"> => ({
  env: () => ({ ...noOwnAccount, ACCOUNTS_FILE: "accounts.json" }),
  files: (secrets) => ({ "accounts.json": text(secrets) }),
});

const configFailures: Readonly<Record<string, Omit<CanaryRun, "args">>> = {
  "an accounts file that is cut off": withAccounts((secrets) =>
    JSON.stringify({ accounts: [account(secrets)] }).slice(0, -5),
  ),
  "an accounts file without a quote": withAccounts((secrets) =>
    JSON.stringify({ accounts: [account(secrets)] }).replace(`${secrets.secret}"`, secrets.secret),
  ),
  "an account twice": withAccounts((secrets) =>
    JSON.stringify({ accounts: [account(secrets), { ...account(secrets), name: "other" }] }),
  ),
  "a secret where its variable's name belongs": withAccounts((secrets) =>
    JSON.stringify({ accounts: [{ ...account(secrets), apiSecret: { env: secrets.secret } }] }),
  ),
  "a secret where its file's path belongs": withAccounts((secrets) =>
    JSON.stringify({ accounts: [{ ...account(secrets), apiSecret: { file: secrets.secret } }] }),
  ),
  "a secret where a key belongs": withAccounts((secrets) =>
    JSON.stringify({ accounts: [{ ...account(secrets), [secrets.secret]: "apiSecret" }] }),
  ),
  "a secret where the name belongs": withAccounts((secrets) =>
    JSON.stringify({ accounts: [{ ...account(secrets), name: `${secrets.secret}=` }] }),
  ),
  "a secret as a list": withAccounts((secrets) =>
    JSON.stringify({ accounts: [{ ...account(secrets), apiSecret: [secrets.secret] }] }),
  ),
  "a secret with a sign that no header carries": {
    env: (_, { secret }) => ({ EXCHANGE_API_SECRET: `${secret}\u00e9` }),
  },
  "a misspelled variable": {
    env: (_, { secret }) => ({ EXCHANGE_API_SECRT: secret, EXCHANGE_API_SECRET: undefined }),
  },
  "a key in the exchange's address": {
    env: (_, { key, secret }) => ({ EXCHANGE_BASE_URL: `https://${key}:${secret}@api.example` }),
  },
  "a password with a bare slash": {
    env: (_, { password }) => ({
      DATABASE_URL: `postgres://user:12/${encodeURIComponent(password)}@127.0.0.1:1/ledger`,
    }),
  },
  "a password with a bare hash": {
    env: (_, { password }) => ({ DATABASE_URL: `postgres://user:1#${password}@127.0.0.1/ledger` }),
  },
  "another database's address": {
    env: (_, { password }) => ({ DATABASE_URL: `mysql://user:${password}@127.0.0.1/ledger` }),
  },
  "a faulty .env": {
    env: () => ({ ...noOwnAccount, LOG_LEVEL: "loud" }),
    files: ({ key, secret, passphrase }) => ({
      ".env": `EXCHANGE_API_KEY='${key}\nEXCHANGE_API_SECRET ${secret}\n=${passphrase}\n${secret}`,
    }),
  },
  "a command that prints secrets and fails": withAccounts(({ key, secret }) => {
    const script = `console.log('${secret}'); console.error('${key}'); process.exit(1)`;
    const credentials = { command: [process.execPath, "-e", script] };
    return JSON.stringify({ accounts: [{ name: "main", credentials }] });
  }),
  "a secret where a command's program belongs": withAccounts((secrets) =>
    JSON.stringify({
      accounts: [{ ...account(secrets), apiSecret: { command: [secrets.secret] } }],
    }),
  ),
};

test(
  "wrong credentials, a database that fails and a wrong configuration are told without a secret",
  async () => {
    const commands = [["sync"], ["doctor"], ["status"]];
    const ofConfig = Object.entries(configFailures).flatMap(([failure, run], index) =>
      commands
        .filter((_, at) => at === index % commands.length)
        .map((args) => ({ failure, args, ...run })),
    );
    const ends = await runAll([...credentialFailures, ...(await databaseFailures()), ...ofConfig]);
    for (const { wanted, stdout, stderr } of ends) {
      expect(`${wanted.failure}, ${wanted.args}: ${stdout}${stderr}`).toMatch(/: .{20}/s);
    }
  },
  maxMs,
);

const crash = (kind: string): CanaryRun => ({
  failure: `a crash: ${kind}`,
  args: ["sync"],
  env: ({ NODE_OPTIONS }) => ({
    NODE_OPTIONS: `${NODE_OPTIONS} --import ${crasher} --max-old-space-size=96`,
    CRASH: kind,
  }),
  act: (running) => sleep(maxMs, running, { ref: false }),
});

const whileItRuns = (failure: string, act: NonNullable<CanaryRun["act"]>): CanaryRun => ({
  failure,
  args: ["sync"],
  act,
});
const planned = /"planned"/;

test(
  "a crash, a report of one, a signal, a reader that is gone and a debug log show no secret",
  async () => {
    const ends = await runAll([
      ...["exception", "rejection", "rejection of no error", "memory"].map(crash),
      whileItRuns("SIGTERM", seenThenStop("stderr", planned, 0, "SIGTERM")),
      whileItRuns("SIGKILL", seenThenStop("stderr", planned, 0, "SIGKILL")),
      whileItRuns("a report on SIGUSR2", async (running) => {
        await seenThenStop("stderr", planned, 0, "SIGUSR2")(running);
        await sleep(1_000);
        running.kill("SIGTERM");
      }),
      whileItRuns("stdout closed", async (running) => {
        running.close("stdout");
        await running.ended;
      }),
      whileItRuns("stderr closed", async (running) => {
        running.close("stderr");
        await running.ended;
      }),
      { failure: "NODE_DEBUG", args: ["sync"], env: () => ({ NODE_DEBUG: "*" }) },
      {
        failure: "no certificate check",
        args: ["sync"],
        env: () => ({ NODE_TLS_REJECT_UNAUTHORIZED: "0" }),
      },
    ]);
    const of = (failure: string) => ends.find(({ wanted }) => wanted.failure === failure);
    for (const kind of ["exception", "rejection"]) {
      expect(of(`a crash: ${kind}`)?.stderr).toMatch(/^defect: Error: a defect\n/m);
    }
    expect(of("no certificate check")?.stderr).toMatch(
      /^NODE_TLS_REJECT_UNAUTHORIZED=0 is ignored: certificates are verified/,
    );
    const reports = (failure: string) =>
      of(failure)?.files.filter((path) => /^report\..*\.json$/.test(path));
    expect(reports("a crash: memory")).toHaveLength(1);
    expect(reports("a report on SIGUSR2")).toHaveLength(1);
  },
  maxMs,
);
