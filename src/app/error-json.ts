import {
  AccountHeldError,
  DatabaseError,
  ExchangeError,
  messageOf,
  ReportableError,
  StoppedError,
  UsageError,
} from "../errors.ts";
import { type ExitCode, hasPrintedJson, type Io, printJson } from "./io.ts";

/** Whether the command line asks for JSON, even if something else in it is wrong. */
export const asksForJson = (args: readonly string[]): boolean => args.includes("--json");

/**
 * Prints the error of a failed command as the document that `--json` promises, unless the command
 * has printed its own document.
 */
export function printErrorJson(io: Io, error: unknown, exitCode: ExitCode): void {
  if (hasPrintedJson(io)) return;
  printJson(io, { error: { message: messageOf(error), kind: kindOf(error), exitCode } });
}

function kindOf(error: unknown): string {
  if (error instanceof UsageError) return "usage";
  if (error instanceof AccountHeldError) return "held";
  if (error instanceof StoppedError) return "stopped";
  if (error instanceof DatabaseError) return "database";
  if (error instanceof ExchangeError) return "exchange";
  return error instanceof ReportableError ? "failed" : "defect";
}
