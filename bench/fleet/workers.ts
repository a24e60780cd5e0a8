import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

type Workers = AsyncDisposable & {
  /** The CPU seconds of all workers so far, including their start. */
  cpuSeconds(): number;
  /** Kills the first worker, as if its machine went away. */
  killFirst(): Promise<void>;
};

const bin = fileURLToPath(new URL("../../src/bin.js", import.meta.url));
const ticksASecond = 100;

/** The real `worker`, one process for each address. Resolves once all of them are working. */
export async function startWorkers(
  addresses: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Workers> {
  const children = addresses.map((address) =>
    spawn(process.execPath, [bin, "worker", "--address", address], {
      env: { PATH: process.env["PATH"], ...env },
      stdio: ["ignore", "ignore", "pipe"],
    }),
  );
  await Promise.all(children.map(working));
  return {
    cpuSeconds: () => children.reduce((sum, { pid }) => sum + cpuSecondsOf(pid), 0),
    async killFirst() {
      const [first] = children;
      first?.kill("SIGKILL");
      if (first !== undefined) await once(first, "exit");
    },
    async [Symbol.asyncDispose]() {
      const running = children.filter((child) => child.exitCode === null && !child.killed);
      await Promise.all(
        running.map(async (child) => {
          child.kill("SIGTERM");
          await once(child, "exit");
        }),
      );
    },
  };
}

async function working(child: ChildProcess): Promise<void> {
  let told = "";
  for await (const text of child.stderr ?? []) {
    told += String(text);
    if (!told.includes("working off the queue")) continue;
    child.stderr?.resume();
    return;
  }
  throw new Error(`a worker ended: ${told}`);
}

function cpuSecondsOf(pid: number | undefined): number {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksASecond;
}
