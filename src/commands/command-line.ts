import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { explained } from "../db/database-errors.ts";
import { firstThrown, messageOf, ReportableError, UsageError } from "../errors.ts";
import { isOutOfFiles, openFilesRemedy } from "../open-files.ts";
import type { Environment } from "../roster/settings.ts";
import { exitOfThrown } from "./exit-code.ts";
import { asksForJson, type ExitCode, type Io, printErrorJson, tell } from "./io.ts";
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
  const npm = io.isRunByNpm ? environment : undefined;
  const readEnvironment = () => ({
    ...(existsSync(".env") ? parseEnv(readEnvFile()) : {}),
    ...environment,
  });
  return await runProgram(args, { io, npm, readEnvironment }).catch((thrown: unknown) =>
    fail(args, io, thrown),
  );
}

function readEnvFile(): string {
  try {
    return readFileSync(".env", "utf8");
  } catch (error) {
    throw new UsageError(`.env cannot be read (${messageOf(error)}); correct it or remove it`);
  }
}

/** One message and an exit code for everything that a command throws. */
export function fail(args: readonly string[], io: Io, thrown: unknown): ExitCode {
  const error = explained(firstThrown(thrown));
  const text =
    error instanceof ReportableError
      ? messageOf(error)
      : isOutOfFiles(error)
        ? `${messageOf(error)}: ${openFilesRemedy}`
        : `defect: ${thrown instanceof Error ? thrown.stack : thrown}`;
  tell(io, text);
  const { exitCode } = exitOfThrown(error);
  if (asksForJson(args)) printErrorJson(io, error, exitCode);
  return exitCode;
}
