import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Bench, median } from "./result.ts";
import { seedFleet } from "./support/fleet.ts";
import { nodeFlags } from "./support/node-flags.ts";
import { openBenchServer } from "./support/postgres.ts";

/*
 * How long `status` takes, from start to end of its process, with few accounts and with very many,
 * each with one to six ledgers and 90 days of coverage. `--version` is a process without a
 * database query: it shows how busy the machine was.
 */

const program = fileURLToPath(new URL("../src/cli.ts", import.meta.url));

const commands: Readonly<Record<string, readonly string[]>> = {
  "a process that asks nothing": ["--version"],
  status: ["status"],
  "status --check": ["status", "--check"],
  "status --json --limit 100": ["status", "--json", "--limit", "100"],
  "status --format prometheus": ["status", "--format", "prometheus"],
  "status --account": ["status", "--account", "fund-0000005"],
};

export const run: Bench = async ({ short }) => {
  const fleets = short ? [10, 200] : [10, 100_000];
  const rounds = short ? 2 : 5;
  await using server = await openBenchServer();
  const measured: number[][] = [];
  for (const accounts of fleets) {
    await using database = await server.database();
    await seedFleet(database, accounts);
    const column: number[] = [];
    for (const args of Object.values(commands)) {
      const seconds: number[] = [];
      for (let round = 0; round < rounds; round++) seconds.push(await timed(args, database.url));
      column.push(median(seconds));
    }
    measured.push(column);
  }
  const names = Object.keys(commands);
  return {
    name: "status",
    title: `seconds of a process, at accounts of 3.5 ledgers each (Postgres ${server.version})`,
    rows: [
      ["", ...fleets.map((accounts) => `${accounts.toLocaleString("en")} accounts`)],
      ...names.map((name, row) => [
        name,
        ...measured.map((column) => (column[row] ?? Number.NaN).toFixed(2)),
      ]),
    ],
    json: { fleets, names, measured },
  };
};

async function timed(args: readonly string[], databaseUrl: string): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...nodeFlags, program, ...args], {
    env: { ...process.env, DATABASE_URL: databaseUrl, EXCHANGE_ACCOUNT: "fund-0000001" },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code] = await once(child, "close");
  const isAlert = args.includes("--check") && code === 1;
  if (code !== 0 && !isAlert) throw new Error(`${args.join(" ")} ended with ${code}`);
  return (performance.now() - startedAt) / 1_000;
}
