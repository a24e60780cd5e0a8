import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { messageOf, UsageError } from "../errors.ts";
import type { Environment } from "../roster/settings.ts";
import type { ExitCode, Io } from "./io.ts";
import { runProgram } from "./program.ts";

/**
 * Runs a command line to its end: what is thrown becomes one message and an exit code.
 * @param environment of the process; it wins over the .env of the current folder.
 */
export async function runCommandLine(
  args: readonly string[],
  io: Io,
  environment: Environment,
): Promise<ExitCode> {
  const readEnvironment = () => ({
    ...(existsSync(".env") ? parseEnv(readEnvFile()) : {}),
    ...environment,
  });
  return await runProgram(args, { io, readEnvironment });
}

function readEnvFile(): string {
  try {
    return readFileSync(".env", "utf8");
  } catch (error) {
    throw new UsageError(`.env cannot be read (${messageOf(error)}); correct it or remove it`);
  }
}
