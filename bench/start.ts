import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { epochMs, isoTime } from "../src/lib/time.ts";
import { sandboxEnvironment } from "../src/wings/sandbox/sandbox.ts";
import { openSandbox } from "../test/exchange/sandbox.ts";
import { type Bench, median } from "./result.ts";
import { nodeFlags } from "./support/node-flags.ts";
import { openBenchServer } from "./support/postgres.ts";

/*
 * The CPU of the program's process when there is almost nothing to do: all of it, from the start of
 * Node, without the server's part.
 */

const program = fileURLToPath(new URL("../src/bin.js", import.meta.url));
const preload = new URL("support/usage.js", import.meta.url).href;

type Usage = { readonly cpuSeconds: number; readonly maxRssMiB: number };

export const run: Bench = async ({ short }) => {
  const runs = short ? 2 : 7;
  await using server = await openBenchServer();
  await using database = await server.database();
  await using sandbox = await openSandbox({ seed: 7, density: 0.2 });
  const env = {
    ...parseEnv(sandboxEnvironment(sandbox)),
    DATABASE_URL: database.url,
    // As if older time were recovered, at a request a second: three minutes.
    RECOVER_FROM: isoTime(epochMs(Date.now())).slice(0, 10),
  };
  const commands = ["--help", "status", "sync"];
  console.log("a first sync, which has something to do: half a minute");
  await usageOf(["sync"], env);
  // As an hour later: the check looks at what was stored within ten minutes.
  await database.client.query("update bills set ingested_at = ingested_at - interval '1 hour'");
  const usages = new Map<string, Usage[]>(commands.map((command) => [command, []]));
  for (let done = 0; done < runs; done++) {
    for (const command of commands) {
      const usage = await usageOf([command], env);
      usages.get(command)?.push(usage);
      console.log(`${command}  ${usage.cpuSeconds.toFixed(2)}`);
    }
  }
  const figures = commands.map((command) => {
    const own = usages.get(command) ?? [];
    return {
      command,
      cpuSeconds: median(own.map(({ cpuSeconds }) => cpuSeconds)),
      maxRssMiB: median(own.map(({ maxRssMiB }) => maxRssMiB)),
    };
  });
  return {
    name: "start",
    title: "what a command takes that has nothing to do",
    rows: [
      ["", "CPU, s", "resident, MiB"],
      ...figures.map(({ command, cpuSeconds, maxRssMiB }) => [
        command,
        cpuSeconds.toFixed(2),
        maxRssMiB.toFixed(0),
      ]),
    ],
    notes: ["sync: six product types and the symbols, all read before"],
    json: { figures },
  };
};

async function usageOf(args: readonly string[], env: NodeJS.Dict<string>): Promise<Usage> {
  const folder = await mkdtemp(join(tmpdir(), "bill-sync-usage-"));
  const file = join(folder, "usage.json");
  try {
    const child = spawn(process.execPath, [...nodeFlags, "--import", preload, program, ...args], {
      cwd: folder,
      env: { PATH: process.env["PATH"], LOG_LEVEL: "error", USAGE_FILE: file, ...env },
      stdio: ["ignore", "ignore", "inherit"],
    });
    const [code] = await once(child, "exit");
    if (code !== 0) throw new Error(`bill-sync ${args.join(" ")} ended with ${code}`);
    const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(await readFile(file, "utf8"));
    return { cpuSeconds: (userCPUTime + systemCPUTime) / 1_000_000, maxRssMiB: maxRSS / 1_024 };
  } finally {
    await rm(folder, { recursive: true });
  }
}
