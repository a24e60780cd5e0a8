// The commands of docs/operations.md do what the page says (runs them; the page says why two blocks are not
// run).

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { readdir, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { Client } from "pg";
import { expect, inject, test } from "vitest";
import { dayMs } from "../src/lib/time.ts";
import { sandboxEnvironment } from "../src/wings/sandbox/sandbox.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import { temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";

const page = readFileSync("docs/operations.md", "utf8");
const dateBefore = (days: number): string =>
  new Date(Date.now() - days * dayMs).toISOString().slice(0, 10);
/** What replaces the page's examples here: their dates will leave the exchange's 90 days one day. */
const meant = (commands: string, url: string): string =>
  commands
    .replaceAll(ownersAddress, url)
    // In one go: today's dates may be the page's.
    .replaceAll(/2026-11-0[18]/g, (day) => dateBefore(day.endsWith("1") ? 20 : 13));
const ownersAddress = "postgres://bill_sync_owner:OWNER-PASSWORD@db.example.com:5432/ledger";

/** The page's commands in their order. Those that are not run have a reason. */
const blocks = [...page.matchAll(/(?:<!-- not run: ([^\n]+) -->\n)?```sh\n(.*?)```/gs)].map(
  ([, reason, commands = ""]) => ({ reason, commands }),
);

/** `npm run` without npm itself, which takes as long as the command. */
const npm = `npm() {
  shift
  if [ "$1" = --silent ]; then shift; fi
  name=$1
  shift
  if [ "\${1-}" = -- ]; then shift; fi
  npm_lifecycle_event=$name "${process.execPath}" src/bin.js "$name" "$@"
}`;

/** A folder for the program's commands, with a .env and a database of its own. */
async function installation(env: string) {
  const folder = await temporaryFolder();
  for (const name of ["package.json", "migrations", "node_modules"])
    await symlink(resolve(name), join(folder.path, name));
  for (const name of ["src", "dist"])
    await symlink(resolve(inject("program"), "../..", name), join(folder.path, name));
  await writeFile(join(folder.path, ".env"), env, { mode: 0o600 });
  const type = async (commands: string) => {
    const child = spawn("sh", ["-euc", `${npm}\n${commands}`], {
      cwd: folder.path,
      env: { PATH: process.env["PATH"], HOME: folder.path },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const closed = new Promise<number | null>((done) => child.on("close", done));
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    return { commands, code: await closed, stdout, stderr };
  };
  return { path: folder.path, type, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

async function billsOf(url: string): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query("select count(*)::int as bills from bills");
  await client.end();
  return rows[0].bills;
}

test("the commands of docs/operations.md, typed one after the other, do what the page says", async () => {
  expect(blocks.map(({ reason }) => reason).filter((reason) => reason !== undefined)).toEqual([
    "its names are an example",
    "it needs the network, and another version",
  ]);
  await using sandbox = await openSandbox({ seed: "operations", density: 0.2 });
  await using server = await testDatabase({ isEmpty: true });
  await using at = await installation(
    `${sandboxEnvironment(sandbox)}\nPRODUCT_TYPES=USDT-FUTURES\nRECOVER_FROM=none\nLOG_LEVEL=warn\n`,
  );
  expect(await at.type("npm run --silent sync")).toMatchObject({ code: 0 });
  const run = blocks.filter(({ reason }) => reason === undefined);
  expect(run.length).toBeGreaterThan(5);
  for (const { commands } of run) {
    const end = await at.type(meant(commands, server.url));
    expect(end, end.stderr).toMatchObject({ code: 0 });
  }
  expect((await readdir(join(at.path, "data"))).sort()).toEqual(["postgres", "postgres-before"]);
  const served = sandbox.account.ledger.bills["USDT-FUTURES"].length;
  const stored = await billsOf(server.url);
  expect(stored).toBeGreaterThan(100);
  expect(stored).toBeLessThanOrEqual(served);
  const shown = await at.type("npm run --silent status -- --json");
  expect(JSON.parse(shown.stdout).ledgers).toEqual([expect.objectContaining({ bills: stored })]);
}, 300_000);
