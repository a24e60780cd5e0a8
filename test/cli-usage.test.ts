// --json prints one document whatever happens, with times that jq reads.

import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openReporter } from "../src/commands/sync-reporter.ts";
import { symbols } from "../src/core/contract/symbols.ts";
import { asTyped } from "../src/lib/as-typed.ts";
import { programVersion } from "../src/lib/version.ts";
import {
  type CliEnvironment,
  type CliOptions,
  runCli,
  startCli,
  temporaryFolder,
} from "./support/cli.ts";
import { commandsByName } from "./support/command-tree.ts";
import { closedPort } from "./support/listening.ts";

const commands = [
  ...["demo", "doctor", "sync", "status", "verify", "reconcile", "breaks", "export", "report"],
  ...["serve", "accounts", "mirror-keys", "types", "db", "worker", "sandbox"],
];

const credentials = {
  EXCHANGE_API_KEY: "key",
  EXCHANGE_API_SECRET: "secret",
  EXCHANGE_API_PASSPHRASE: "passphrase",
};

test("help names the commands and exit codes, and fits on 80 columns, whatever the environment holds", async () => {
  const env = { DATABASE_URL: "x", LOG_LEVEL: "x" };
  const end = await runCli(["--help"], { env });
  expect(end).toMatchObject({ code: 0, stderr: "" });
  const named = [...end.stdout.matchAll(/^ {2}(\w[\w-]*) .*[a-z]/gm)].map(([, name]) => name);
  expect(named).toEqual([...commands, "help"]);
  expect(end.stdout).toMatch(/0 done and complete, 1 not complete, 2 wrong usage.*\n3 another run/);
  for (const name of commands) {
    const { code, stdout } = await runCli([name, "--help"], { env });
    const widest = Math.max(...stdout.split("\n").map((line) => line.length));
    expect({ name, code, isWide: widest > 80 }).toEqual({ name, code: 0, isWide: false });
  }
  const options = [...commandsByName.values()].flatMap((command) => command.options);
  const required = options.filter(({ mandatory, long }) => mandatory && long !== "--version");
  expect(required.map(({ long }) => long).toSorted()).toEqual([
    "--format",
    "--from",
    "--note",
    "--to",
  ]);
  for (const { description } of required) expect(description).toMatch(/^required: /);
  expect(await runCli(["--version"], { env })).toMatchObject({
    ...{ code: 0, stderr: "", stdout: `${programVersion()}\n` },
  });
  expect(await runCli([])).toMatchObject({
    ...{ code: 2, stdout: "", stderr: expect.stringMatching(/^Usage: bill-sync/) },
  });
});

test("what is missing to npm, which keeps options for itself, is told with the way to type it", async () => {
  const hint = /not specified\n\(.*; options come after two dashes: npm run export -- --help\)\n$/;
  const byNpm = await runCli(["export"], { env: { npm_lifecycle_event: "export" } });
  expect(byNpm).toMatchObject({ code: 2, stderr: expect.stringMatching(hint) });
  expect((await runCli(["export"])).stderr).not.toMatch(hint);
});

test.each([
  [["status"], { npm_config_json: "true" }, "npm run status -- --json"],
  [
    ["sync"],
    { npm_config_dry_run: "true", npm_config_only: "bills" },
    "npm run sync -- --only bills --dry-run",
  ],
  [
    ["status", "main", "--check"],
    { npm_config_account: "true" },
    "npm run status -- --account main --check",
  ],
  [["accounts", "retire", "x"], { npm_config_undo: "true" }, "npm run accounts -- retire --undo x"],
])(
  "%j with %j, which npm took for itself, does nothing and says what to type",
  async (args, npm, typed) => {
    const end = await runCli(args, { env: { npm_lifecycle_event: args[0] ?? "", ...npm } });
    expect(end).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining(`: type ${typed}\n`),
    });
    // Without npm, these variables are anybody's.
    expect((await runCli([...args, "--help"], { env: npm })).code).toBe(0);
  },
);

test("a message names commands as npm runs them, and does not take the program's name for one", () => {
  const text =
    "run bill-sync sync; then bill-sync breaks accept 3,12 --note x, or bill-sync db migrate: a backup by bill-sync 0.1.0, run bill-sync as an ordinary user";
  expect(asTyped({}, text)).toBe(text);
  expect(asTyped({ npm: {} }, text)).toBe(
    "run npm run sync; then npm run breaks -- accept 3,12 --note x, or npm run db migrate: a backup by bill-sync 0.1.0, run bill-sync as an ordinary user",
  );
});

test("what programs read names commands as they are typed, too", async () => {
  const env = { npm_lifecycle_event: "status" };
  const remedyOf = async (options: CliOptions) =>
    JSON.parse((await runCli(["status", "--json"], options)).stdout).findings[0].remedy;
  expect([await remedyOf({}), await remedyOf({ env })]).toEqual(["bill-sync sync", "npm run sync"]);
});

test.each([false, true])("a log names commands as npm runs them, too (terminal: %s)", (isTTY) => {
  const written: string[] = [];
  const err = { isTTY, columns: 80, write: (text: string) => written.push(text) };
  const io = { err, npm: {} } as unknown as Parameters<typeof openReporter>[1];
  using reporter = openReporter("info", io);
  reporter.notice("retired: bill-sync accounts retire --undo main");
  expect(written.join("")).toContain("retired: npm run accounts -- retire --undo main");
});

const ofVerify = "verify --from 2026-11-01 --to";
test.each<[string, RegExp, Record<string, string>?]>([
  ["snyc", /unknown command 'snyc'\n\(Did you mean sync\?\)/],
  ["sync --jsn", /unknown option '--jsn'\n\(Did you mean --json\?\)/],
  ["sync now", /too many arguments for 'sync'/],
  ["sync", /EXCHANGE_API_KEY is missing/],
  ["sync --only nothing", /^--only "nothing" is not a target of a sync/, credentials],
  ["sync --product USDT-FUTURE", /^--product "USDT-F.*, did you mean USDT-FUTURES\?$/, credentials],
  ["sandbox --port 65536", /option '--port <port>' argument '65536' is invalid/],
  ["sandbox --mode unifed", /Allowed choices are classic, unified\./],
  ["status", /DATABASE_URL is not .*\n {2}LOG_LEVEL/, { LOG_LEVEL: "loud", DATABASE_URL: "x" }],
  ["breaks list --product USDT-FUTURE", /did you mean USDT-FUTURES\?$/],
  ["breaks list --repair", /unknown option '--repair'/],
  ["doctor --account other", /there is no account other/, credentials],
  ["verify --from 2026-11-01", /required option '--to <time>' not specified/],
  [`${ofVerify} 2026-11-02`, /EXCHANGE_API_KEY is missing/],
  [`${ofVerify} tomorrow`, /^--to "tomorrow" is not a time: write 2/, credentials],
  [`${ofVerify} 2026-11-01`, /^--from 2026-11-01 --to 2026-11-01 is an empty span/, credentials],
  ["db migrate", /DATABASE_URL is not an address/, { DATABASE_URL: "x" }],
])(
  "what cannot be meant ends with code 2 and one message, before anything is done: %s",
  async (words, message, env = {}) => {
    const args = words.split(" ");
    const end = await runCli(args, { env });
    // doctor prints each check as soon as it is made.
    const stdoutBefore = words.startsWith("doctor") ? expect.anything() : "";
    expect(end).toMatchObject({ code: 2, stdout: stdoutBefore });
    expect(end.stderr.replace(/^error: /, "").trimEnd()).toMatch(message);
    expect(end.stderr).not.toMatch(/ {4}at /);
    // Callers who ask for JSON get one document, however early a command ends.
    if (/^sandbox|^db|^snyc|^breaks list --repair/.test(words)) return;
    const { stdout, code } = await runCli([...args, "--json"], { env });
    expect(code).toBe(2);
    const { error } = JSON.parse(stdout);
    expect(error).toMatchObject({ kind: "usage", exitCode: 2 });
    expect(error.message).toMatch(new RegExp(message.source.split("\\n")[0] ?? "", "m"));
  },
);

test(".env is read, what is set for the process wins over it, and one that cannot be read is told", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, ".env");
  const told = async (env: CliEnvironment = {}) =>
    (await runCli(["status"], { cwd: folder.path, env })).stderr;
  await writeFile(path, "# ours\nSYNC_LTV=file\nexport LOG_LEVEL='from file'\nDATA_DIR=\n");
  for (const [env, loan] of [
    [{}, "file"],
    [{ SYNC_LTV: "process" }, "process"],
  ] as const) {
    expect(await told(env)).toContain(`SYNC_LTV "${loan}" is not`);
    expect(await told(env)).toContain('LOG_LEVEL "from file" is not');
  }
  const text = "\ufeffDATABASE_URL=mysql://x\r\nSYNC_LTV=file\r\n";
  const saved = [
    Buffer.from(text),
    Buffer.from(text, "utf16le"),
    Buffer.from(text, "utf16le").swap16(),
    Buffer.from(text.replaceAll("\r\n", "\r")),
  ];
  for (const bytes of saved) {
    await writeFile(path, bytes);
    expect(await told()).toMatch(
      /^ {2}DATABASE_URL is not an address;[\s\S]*SYNC_LTV "file" is not/m,
    );
  }
  // Lines of cmd.exe, PowerShell, YAML and JSON would leave bills to the embedded database.
  for (const line of [
    "set DATABASE_URL=postgres://u:hunter2@h/n",
    '$env:DATABASE_URL="postgres://u:hunter2@h/n"',
    "DATABASE_URL: postgres://u:hunter2@h/n",
    "DATABASE_URL: postgres://u:hunter2@h/n?sslmode=disable",
    "  DATABASE_URL: postgres://u:hunter2@h/n",
    "- DATABASE_URL: postgres://u:hunter2@h/n",
    "DATABASE_URL:postgres://u:hunter2@h/n",
    "DATABASE_URL : postgres://u:hunter2@h/n",
    '{"DATABASE_URL": "postgres://u:hunter2@h/n"}',
    '{\n  "DATABASE_URL": "postgres://u:hunter2@h/n?sslmode=disable",\n}',
    "\u200bDATABASE_URL=postgres://u:hunter2@h/n",
  ]) {
    await writeFile(path, `${line}\n`);
    const end = await told();
    const faults = end.split("\n").filter((text) => text.startsWith("  "));
    expect(faults, line).toEqual([expect.stringMatching(/^ {2}DATABASE_URL is named in \.env or/)]);
    expect(end).not.toContain("hunter2");
  }
  await writeFile(path, Buffer.from(text.slice(1), "utf16le"));
  expect(await told()).toMatch(/^\.env cannot be read \(it is not UTF-8 text; save it as UTF-8\)/);
  await rm(path);
  await mkdir(path);
  expect(await told()).toMatch(/^\.env cannot be read \(EISDIR.*\); correct it or remove it\n$/);
});

test.each(["sync", "sync --dry-run", "status", "reconcile", "db migrate"])(
  "%s tells an unreachable database with the remedy, without the password, and so does its JSON",
  async (words) => {
    const DATABASE_URL = `postgres://user:hunter2@127.0.0.1:${await closedPort()}/bills`;
    const env = { ...credentials, DATABASE_URL };
    const message = expect.stringMatching(
      /^the database failed \(connect ECONNREFUSED [^\n]+\): start the server, or correct host and port in DATABASE_URL[^\n]*\n?$/,
    );
    const end = await runCli(words.split(" "), { env });
    expect(end).toMatchObject({ code: 1, stdout: "", stderr: message });
    expect(end.stderr).not.toContain("hunter2");
    if (words.startsWith("db")) return;
    const json = await runCli([...words.split(" "), "--json"], { env });
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toEqual({ error: { message, kind: "database", exitCode: 1 } });
    expect(json.stdout).not.toContain("hunter2");
  },
);

test("sandbox prints lines that work as .env, says where its port is another program's, and ends with code 0 on SIGINT", async () => {
  const port = await closedPort();
  await using sandbox = await startCli(["sandbox", "--port", String(port)]);
  const [text] = await sandbox.seen("stdout", /^(\w+=\S+\n){5}$/);
  const lines = Object.fromEntries(text.split("\n").map((line) => line.split("=")));
  expect(lines["EXCHANGE_BASE_URL"]).toBe(`http://127.0.0.1:${port}`);
  expect((await fetch(`${lines["EXCHANGE_BASE_URL"]}${symbols.path}`)).status).toBe(200);
  expect(await runCli(["sandbox", "--port", String(port)])).toMatchObject({
    ...{ code: 1, stdout: "" },
    stderr: expect.stringMatching(
      new RegExp(`^port ${port} cannot be used [^\n]* choose another, or 0 for a free one\n$`),
    ),
  });
  sandbox.kill("SIGINT");
  expect(await sandbox.ended).toMatchObject({ code: 0, stdout: text });
});

test("sandbox --accounts-file writes an accounts file, whose keys are of three accounts, and replaces no other", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "accounts.json");
  const until = /^(\w+=\S+\n){2}$/;
  expect((await runCli(["sandbox", "--accounts-file", file], { until })).stdout).toContain(
    `ACCOUNTS_FILE=${file}\n`,
  );
  const { accounts } = JSON.parse(await readFile(file, "utf8"));
  const plain = { name: "plain", productTypes: ["USDT-FUTURES"] };
  expect(accounts).toMatchObject([{ name: "coins" }, { name: "unified" }, plain]);
  expect(new Set(accounts.map(({ apiKey }: { apiKey: string }) => apiKey)).size).toBe(3);
  const again = await runCli(["sandbox", "--accounts-file", file], { until });
  expect(again.stdout).toContain(`ACCOUNTS_FILE=${file}\n`);
  const real = '{"accounts":[{"name":"fund","apiKey":"a key that is nowhere else"}]}';
  await writeFile(file, real);
  expect(await runCli(["sandbox", "--accounts-file", file], { until })).toMatchObject({
    ...{ code: 2, stdout: "" },
    stderr: `--accounts-file ${file} exists with other accounts; name another file\n`,
  });
  expect(await readFile(file, "utf8")).toBe(real);
});
