// A launcher on an older Node that is killed takes its Node 24 with it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { scratch } from "./support/scratch.ts";

const root = new URL("../", import.meta.url);
const pathOf = (path: string) => fileURLToPath(new URL(path, root));

// Loaded before the program: takes this Node for an older one. Only in the process that the test starts:
// a child that did so, too, would start another one, without end.
const olderNode = `data:text/javascript,${encodeURIComponent(`
  if (process.ppid === ${process.pid}) {
    Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.0.0" } });
  }`)}`;

const folder = mkdtempSync(join(scratch, "bill-sync-launcher-"));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "up.mjs"), "console.log('up'); setInterval(() => undefined, 1000);");
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

async function launch(...args: readonly string[]) {
  const launcher = spawn(process.execPath, ["--import", olderNode, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(launcher.stdout, "data");
  return launcher;
}

async function childOf(pid: number): Promise<number> {
  for (;;) {
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
    if (children !== "") return Number.parseInt(children, 10);
    await sleep(20);
  }
}

test.runIf(process.platform === "linux").each([
  [pathOf("src/bin.js"), "sandbox"],
  [pathOf("src/node-24.js"), `${folder}/up.mjs`],
])("a launcher that is killed takes its Node 24 with it: %s", async (...args) => {
  const launcher = await launch(...args);
  const child = await childOf(launcher.pid ?? 0);
  expect(isAlive(child)).toBe(true);
  launcher.kill("SIGKILL");
  await expect.poll(() => isAlive(child), { timeout: 10_000 }).toBe(false);
});

test("a signal to the launcher reaches its Node 24, whose exit code it ends with", async () => {
  const launcher = await launch(pathOf("src/bin.js"), "sandbox");
  launcher.kill("SIGTERM");
  expect((await once(launcher, "exit"))[0]).toBe(0);
});
