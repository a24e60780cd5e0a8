import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { secondMs } from "../../src/lib/time.ts";

type Ended = { readonly seconds: number; readonly stdout: string };

/**
 * Runs a Node program in a process of its own, in an empty folder, and measures its time from start
 * to end.
 * @throws Error with its output, if it ends with another code than 0.
 */
export async function runProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  const cwd = await mkdtemp(join(tmpdir(), "bill-sync-bench-"));
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, {
    cwd,
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const texts = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await once(child, "exit")) as [number | null];
  const seconds = (performance.now() - startedAt) / secondMs;
  const [stdout, stderr] = await texts;
  await rm(cwd, { recursive: true });
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}: ${stdout}${stderr}`);
  return { seconds, stdout };
}
