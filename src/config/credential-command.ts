import { spawn } from "node:child_process";
import { once } from "node:events";
import { secondMs } from "../contract/time.ts";
import { shownCode, UsageError } from "../errors.ts";
import { printableLine } from "../printable.ts";

const commandMaxMs = 30 * secondMs;
/** Three credentials are some hundred bytes. */
const outputMaxBytes = 64 * 1024;

/**
 * Runs a program without a shell, and gives back what it wrote to standard output. What it wrote is in
 * no error: it may hold a secret.
 *
 * @param command the program and its arguments.
 * @throws UsageError that names the account and the program, and what became of it.
 */
export async function outputOf(
  account: string,
  command: readonly string[],
  { signal, maxMs = commandMaxMs }: { readonly signal: AbortSignal; readonly maxMs?: number },
): Promise<string> {
  const [program = "", ...args] = command;
  const failed = (what: string) =>
    new UsageError(
      `account ${account}: the command ${printableLine(program)}, which prints its credentials, ` +
        `${what}; ` +
        "run it by hand to see its output, which is not shown here because it may hold a secret",
    );
  // What is no program may be a secret that was put where one belongs.
  const notStarted = (error: unknown) =>
    new UsageError(
      `account ${account}: the command that prints its credentials cannot be started ` +
        `(${shownCode(error)}); correct its first word, which is a program's name or path`,
    );
  signal.throwIfAborted();
  // A group of its own, so that what a script started ends with it.
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"], detached: true });
  const kill = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
    // A process that left the group may still hold the pipe.
    child.stdout.destroy();
  };
  let end: "late" | "long" | "stopped" | undefined;
  const stop = (why: NonNullable<typeof end>) => {
    end ??= why;
    kill();
  };
  const timer = setTimeout(stop, maxMs, "late");
  const onAbort = () => stop("stopped");
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const parts: Buffer[] = [];
    let bytes = 0;
    child.stdout.on("data", (part: Buffer) => {
      bytes += part.length;
      if (bytes > outputMaxBytes) stop("long");
      else parts.push(part);
    });
    const [code, killedBy] = await once(child, "close").catch((error: unknown) => {
      throw notStarted(error);
    });
    if (end === "stopped") signal.throwIfAborted();
    if (end === "late") throw failed(`did not end within ${maxMs / secondMs} s`);
    if (end === "long") throw failed(`wrote more than ${outputMaxBytes} bytes`);
    if (code !== 0) throw failed(`ended with ${killedBy ?? `code ${code}`}`);
    return Buffer.concat(parts).toString("utf8");
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
