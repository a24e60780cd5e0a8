import { spawn } from "node:child_process";
import { errorCode } from "../../errors.ts";

/** The user that the server runs as, where it is not this process's. */
export type Account = { readonly uid: number; readonly gid: number };
type ToolResult = { readonly ok: boolean; readonly output: string };

/** The remedy where the embedded Postgres cannot be used. */
export const otherDatabase = "set DATABASE_URL to a Postgres of your own";

const toolLimitMs = 90_000;
const outputCharsMax = 4_000;
const toolEnvironment = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C", TZ: "UTC" };

/**
 * Runs a tool to its end: in a session of its own, so that Ctrl-C does not reach it; from `/`, since the
 * account may not enter our working directory; and without our environment (PGPORT, LANG).
 */
export function run(
  command: string,
  args: readonly string[],
  account?: Account,
): Promise<ToolResult> {
  return new Promise((settle) => {
    let output = "";
    const child = spawn(command, args, {
      ...account,
      cwd: "/",
      env: toolEnvironment,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: toolLimitMs,
      killSignal: "SIGKILL",
    });
    const collect = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-outputCharsMax);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.on("error", (error) => settle({ ok: false, output: error.message }));
    child.on("close", (code, signal) =>
      settle({
        ok: code === 0,
        output: signal === null ? output : `${output}\nended by ${signal}`,
      }),
    );
  });
}

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes(errorCode(error) ?? "");
}

/** A `catch` that lets the named system errors pass and throws all others. */
export function unless(...codes: readonly string[]): (error: unknown) => void {
  return (error) => {
    if (!hasCode(error, ...codes)) throw error;
  };
}

export function lastLines(text: string, linesMax = 8): string {
  return text.trim().split("\n").slice(-linesMax).join("\n  ");
}
