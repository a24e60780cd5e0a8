import { spawnSync } from "node:child_process";
import { mkdir, open, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { asTyped } from "../src/commands/io.ts";
import { symbols } from "../src/contract/symbols.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { programVersion } from "../src/version.ts";
import { runCli, startCli, temporaryFolder } from "./support/cli.ts";

const commands = [
  ...["demo", "doctor", "sync", "status", "verify", "reconcile", "breaks", "export", "report"],
  ...["serve", "accounts", "keys", "types", "db", "worker", "sandbox"],
];

const credentials = {
  EXCHANGE_API_KEY: "key",
  EXCHANGE_API_SECRET: "secret",
  EXCHANGE_API_PASSPHRASE: "passphrase",
};

/** A port of this machine on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<number>();
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    server.close(() => resolve(port));
  });
  return promise;
}

describe.concurrent("help", () => {
  test("of the program names its commands and exit codes, whatever the environment holds", async ({
    expect,
  }) => {
    const end = await runCli(["--help"], { env: { DATABASE_URL: "x", LOG_LEVEL: "x" } });
    expect(end).toMatchObject({ code: 0, stderr: "" });
    const named = [...end.stdout.matchAll(/^ {2}(\w+) .*[a-z]/gm)].map(([, name]) => name);
    expect(named).toEqual([...commands, "help"]);
    expect(end.stdout).toMatch(
      /0 done and complete, 1 not complete, 2 wrong usage.*\n3 another run/,
    );
  });

  test("--version prints the version of package.json, whatever the environment holds", async ({
    expect,
  }) => {
    const end = await runCli(["--version"], { env: { DATABASE_URL: "x" } });
    expect(end).toMatchObject({ code: 0, stderr: "", stdout: `${programVersion()}\n` });
  });

  test.each(commands)(
    "of %s fits on 80 columns; docs/reference.md has its options",
    async (name) => {
      const end = await runCli([name, "--help"]);
      expect(end).toMatchObject({ code: 0, stderr: "" });
      expect(Math.max(...end.stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(
        80,
      );
    },
  );
});

describe.concurrent("what was typed", () => {
  test.each([
    [["status", "--product", "x".repeat(10_000)], /^--product "x{290,300}…/],
    [["x".repeat(10_000)], /^error: unknown command 'x{290,300}…/],
  ])("comes back in a message, and not all of it where it is endless", async (args, expected) => {
    const end = await runCli(args);
    expect(end).toMatchObject({ code: 2, stderr: expect.stringMatching(expected) });
    expect(end.stderr.length).toBeLessThan(600);
  });

  test("to npm, which keeps options for itself, is missed with the way to type it", async () => {
    const hint =
      /not specified\n\(.*; options come after two dashes: npm run verify -- --help\)\n$/;
    const byNpm = await runCli(["verify"], { env: { npm_lifecycle_event: "verify" } });
    expect(byNpm).toMatchObject({ code: 2, stderr: expect.stringMatching(hint) });
    expect((await runCli(["verify"])).stderr).not.toMatch(hint);
  });
});

test.each([
  [["status"], { npm_config_json: "true" }, "npm run status -- --json"],
  [
    ["sync"],
    { npm_config_dry_run: "true", npm_config_only: "bills" },
    "npm run sync -- --only bills --dry-run",
  ],
  [["accounts", "add", "x"], { npm_config_ltv: "true" }, "npm run accounts -- add x --ltv"],
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

test("a message names commands as npm runs them, where it does", () => {
  const text =
    "run bill-sync sync; then bill-sync breaks accept 3 --note x, or bill-sync db migrate: a backup by bill-sync 0.1.0";
  expect(asTyped({}, text)).toBe(text);
  expect(asTyped({ npm: {} }, text)).toBe(
    "run npm run sync; then npm run breaks -- accept 3 --note x, or npm run db migrate: a backup by bill-sync 0.1.0",
  );
});

describe.concurrent("what cannot be meant ends with code 2 and one message, before anything is done", () => {
  const product = (word: string) => ["sync", "--product", word];
  const verify = (from: string, to: string) => ["verify", "--from", from, "--to", to];
  const wrong: readonly [readonly string[], Record<string, string>, RegExp][] = [
    [[], {}, /^Usage: bill-sync/],
    [["snyc"], {}, /^error: unknown command 'snyc'\n\(Did you mean sync\?\)\n/],
    [["sync", "--jsn"], {}, /^error: unknown option '--jsn'\n\(Did you mean --json\?\)\n/],
    [["sync", "now"], {}, /^error: too many arguments for 'sync'/],
    [
      ["sandbox", "--port", "65536"],
      {},
      /^error: option '--port <port>' argument '65536' is invalid/,
    ],
    [["sandbox", "--port", "http"], {}, /It is not a number from 0 to 65535/],
    [["sandbox", "--mode", "unifed"], {}, /Allowed choices are classic, unified\./],
    [
      product("USDT-FUTURE"),
      credentials,
      /^--product "USDT-FUTURE" .*, did you mean USDT-FUTURES\?\n$/,
    ],
    [
      product("perp"),
      credentials,
      /^--product "perp" is not a product type \(there are USDT-F[^\n]+\n$/,
    ],
    [["status", "--product", "USDT-FUTURE"], {}, /did you mean USDT-FUTURES\?\n$/],
    [
      ["status"],
      { LOG_LEVEL: "loud", DATABASE_URL: "x" },
      /DATABASE_URL is not .*\n {2}LOG_LEVEL "loud" is not/,
    ],
    [["breaks", "list", "--product", "USDT-FUTURE"], {}, /did you mean USDT-FUTURES\?\n$/],
    [["breaks", "list", "--repair"], {}, /^error: unknown option '--repair'/],
    [["verify", "--from", "2026-11-01"], {}, /^error: required option '--to <time>' not specified/],
    [verify("yesterday", "2026-11-02"), credentials, /^--from "yesterday" is not a time: write 2/],
    [verify("2026-02-30", "2026-11-02"), credentials, /^--from "2026-02-30" is not a time: write/],
    [verify("2026-11-01", "2026-11-02T25:00Z"), credentials, /^--to "2026-11-02T25:00Z" is not a/],
    // Without an offset, nobody knows which ten o'clock is meant.
    [
      verify("2026-11-01T10:00", "2026-11-02"),
      credentials,
      /with Z or an offset such as \+01:00\n$/,
    ],
    [verify("1", "2"), credentials, /^--from "1" is not a time/],
    [
      verify("2026-11-02", "2026-11-01"),
      credentials,
      /^--from 2026-11-02 is not before --to 2026-/,
    ],
    [verify("2026-11-01", "2026-11-01"), credentials, /nothing is between them\n$/],
    [
      verify("2020-01-01", "9999-01-01"),
      credentials,
      /^--to 9999-01-01T\S+ lies in the future; give a time up to now, 20/,
    ],
    [
      verify("2019-01-01", "2020-01-01"),
      credentials,
      /^--to 2020-01-01 is more than 90 days ago: t/,
    ],
    [verify("2026-11-01", "2026-11-02"), {}, /EXCHANGE_API_KEY is missing/],
    [["db", "migrate"], { DATABASE_URL: "x" }, /DATABASE_URL is not an address/],
  ];
  test.each(wrong)("%j with %j", async (args, env, message) => {
    const end = await runCli(args, { env });
    expect(end).toMatchObject({ code: 2, stdout: "" });
    expect(end.stderr).toMatch(message);
    expect(end.stderr).not.toMatch(/ {4}at /);
  });
});

test("missing credentials are named all at once, with what to do, and nothing is begun", async () => {
  const end = await runCli(["sync"]);
  expect(end).toMatchObject({ code: 2, stdout: "" });
  expect(end.stderr.split("\n")).toEqual([
    "the configuration has errors:",
    ...Object.keys(credentials).map(
      (name) => `  ${name} is missing; the exchange gives it when you create an API key`,
    ),
    expect.stringMatching(/in the environment or in \.env; \.env\.example describes each\.$/),
    "",
  ]);
});

describe(".env", () => {
  test("is read, and what is set for the process wins over it", async () => {
    await using folder = await temporaryFolder();
    await writeFile(
      join(folder.path, ".env"),
      "# ours\nEXCHANGE_LOCALE=from-file\nexport LOG_LEVEL='from file'\nDATA_DIR=\n",
    );
    const read = (env: Record<string, string>) => runCli(["status"], { cwd: folder.path, env });
    const fromFile = await read({});
    expect(fromFile.code).toBe(2);
    expect(fromFile.stderr).toContain('EXCHANGE_LOCALE "from-file" is not');
    expect(fromFile.stderr).toContain('LOG_LEVEL "from file" is not');
    const overruled = await read({ EXCHANGE_LOCALE: "from-process" });
    expect(overruled.stderr).toContain('EXCHANGE_LOCALE "from-process" is not');
    expect(overruled.stderr).toContain('LOG_LEVEL "from file" is not');
  });

  test("that cannot be read is told, not passed over", async () => {
    await using folder = await temporaryFolder();
    await mkdir(join(folder.path, ".env"));
    const end = await runCli(["status"], { cwd: folder.path });
    expect(end).toMatchObject({ code: 2, stdout: "" });
    expect(end.stderr).toMatch(/^\.env cannot be read \(EISDIR.*\); correct it or remove it\n$/);
  });
});

test("a result that cannot be written is a failure, and says why", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "result");
  await writeFile(path, "");
  await using readOnly = await open(path, "r");
  const { status, stderr } = spawnSync(process.execPath, ["src/bin.js", "--help"], {
    stdio: ["ignore", readOnly.fd, "pipe"],
    encoding: "utf8",
  });
  expect(stderr).toMatch(/^the output could not be written: EBADF[^\n]*\n$/);
  expect(status).toBe(1);
});

test.each([
  ["sync"],
  ["sync", "--dry-run"],
  ["status"],
  ["status", "--json"],
  ["db", "migrate"],
  ["db", "url"],
])("%s %s tells an unreachable database with the remedy, without the password", async (...args) => {
  const DATABASE_URL = `postgres://user:hunter2@127.0.0.1:${await closedPort()}/bills`;
  const end = await runCli(args, { env: { ...credentials, DATABASE_URL } });
  expect(end).toMatchObject({ code: 1, stdout: expect.not.stringContaining("hunter2") });
  expect(end.stdout === "").toBe(!args.includes("--json"));
  expect(end.stderr).toMatch(
    /^the database failed \(connect ECONNREFUSED [^\n]+\): start the server, or correct host and port in DATABASE_URL[^\n]*\n$/,
  );
  expect(end.stderr).not.toContain("hunter2");
});

describe("sandbox", () => {
  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "prints lines that work as .env, and ends with code 0 on %s",
    async (signal) => {
      await using sandbox = await startCli(["sandbox"]);
      const [text] = await sandbox.seen("stdout", /^(EXCHANGE_\w+=\S+\n){5}$/);
      const lines = Object.fromEntries(text.split("\n").map((line) => line.split("=")));
      const answer = await fetch(`${lines["EXCHANGE_BASE_URL"]}${symbols.path}`);
      expect(answer.status).toBe(200);
      await using same = await openSandbox({ seed: "1", density: 0 });
      expect(lines["EXCHANGE_API_KEY"]).toBe(same.account.apiKey);
      sandbox.kill(signal);
      expect(await sandbox.ended).toMatchObject({ code: 0, stdout: text });
    },
  );

  test("takes the port that it is given, and says so where another program has it", async () => {
    const port = await closedPort();
    await using sandbox = await startCli(["sandbox", "--port", String(port)]);
    await sandbox.seen("stdout", new RegExp(`EXCHANGE_BASE_URL=http://127.0.0.1:${port}\n`));
    const second = await runCli(["sandbox", "--port", String(port)]);
    expect(second).toMatchObject({ code: 1, stdout: "" });
    expect(second.stderr).toMatch(
      new RegExp(`^port ${port} cannot be used [^\n]* choose another, or 0 for a free one\n$`),
    );
  });
});

describe.concurrent("--json has one document on standard output, however early a command ends", () => {
  const span = ["--from", "2026-01-01", "--to", "2026-01-02"];
  const key = { ...credentials, EXCHANGE_BASE_URL: "http://127.0.0.1:1" };
  const early: readonly [readonly string[], Record<string, string>, string, RegExp][] = [
    [["sync"], {}, "usage", /EXCHANGE_API_KEY/],
    [["sync", "--only", "nothing"], key, "usage", /--only "nothing"/],
    [["sync", "--dry-run", "--nonsense"], key, "usage", /^unknown option '--nonsense'/],
    [["status", "--product", "x"], key, "usage", /--product "x"/],
    [["verify"], key, "usage", /--from <time>' not specified/],
    [["verify", ...span], {}, "usage", /EXCHANGE_API_KEY/],
    [["breaks", "list"], { PRODUCT_TYPES: "x" }, "usage", /PRODUCT_TYPES/],
    [["doctor", "--account", "other"], key, "usage", /--account other/],
    [["nothing"], key, "usage", /unknown command 'nothing'/],
  ];
  test.each(early)("%s: usage", async (args, env, kind, message) => {
    const end = await runCli([...args, "--json"], { env });
    expect(end.code).toBe(2);
    const { error } = JSON.parse(end.stdout);
    expect(error).toEqual({ message: expect.stringMatching(message), kind, exitCode: 2 });
    expect(end.stderr).toContain(error.message.split("\n")[0]);
  });

  test("a database that is away", async () => {
    const DATABASE_URL = `postgres://user@127.0.0.1:${await closedPort()}/bills`;
    for (const command of [["sync"], ["status"], ["reconcile"], ["breaks", "list"]]) {
      const end = await runCli([...command, "--json"], { env: { ...key, DATABASE_URL } });
      expect(end.code).toBe(1);
      expect(JSON.parse(end.stdout)).toEqual({
        error: { message: expect.stringMatching(/ECONNREFUSED/), kind: "database", exitCode: 1 },
      });
    }
  });

  test("and none without it", async () => {
    expect(await runCli(["sync"])).toMatchObject({ code: 2, stdout: "" });
    expect(await runCli(["sync", "--nonsense"])).toMatchObject({ code: 2, stdout: "" });
  });
});
