import { once } from "node:events";
import type { Config } from "../accounts/config.ts";
import type { Environment } from "../accounts/settings.ts";
import type { Queryable } from "../core/postgres/connect.ts";
import type { RecoverBills } from "../core/sync/account-report.ts";
import { asTyped } from "../lib/as-typed.ts";
import { firstThrown, messageOf, ReportableError } from "../lib/errors.ts";
import { isOutOfFiles, openFilesRemedy } from "../lib/open-files.ts";
import { printable, printableJson } from "../lib/printable.ts";
import { hourMs } from "../lib/time.ts";
import { asJson, asText, type Result } from "../output/result.ts";
import { exitOfThrown } from "./exit-code.ts";

/** A program's access to its process. Results go to `out`, everything else to `err`. */
export type Process = {
  readonly out: NodeJS.WriteStream;
  readonly err: NodeJS.WriteStream;
  /** Whether the command line asks for JSON, even if something else in it is wrong. */
  readonly isJson?: boolean;
  /** The environment, if npm runs the program: then commands are named as they are typed there. */
  readonly npm?: Environment | undefined;
  /** Aborts with a StoppedError when the user asks the command to stop. */
  readonly signal: AbortSignal;
  /** Called if a result could not be written: the command has then failed, whatever it did. */
  readonly onOutputError: (error: Error) => void;
};

/** The jobs of the workers' queue. */
export type QueueStatus = { readonly waiting: number; readonly atWork: number };

type Wing<Module> = () => Promise<Module>;

/** Is told of older bills that are recovered. */
export type RecoverReporter = {
  readonly notice: (message: string) => void;
  readonly step: (
    step: "recovered",
    ms: { readonly planned: number } | { readonly done: number },
  ) => void;
};

/** What commands use of wings, each loaded where it is used. A program without the wing lacks the member. */
export type Wings = {
  readonly embedded?: Wing<{
    openEmbedded(where: {
      readonly dataDir: string;
      readonly notify: (message: string) => void;
    }): Promise<AsyncDisposable & { readonly url: string; readonly readOnlyUrl: string }>;
  }>;
  readonly queue?: Wing<{
    readQueue(db: Queryable): Promise<QueueStatus | undefined>;
  }>;
  readonly metrics?: Wing<{ metricsCommand(config: Config, io: Io): Promise<Result> }>;
  readonly mirrorKeys?: Wing<{
    renameInKeys(
      config: Config,
      names: { readonly from: string; readonly to: string },
    ): Promise<void>;
  }>;
  readonly recovery?: Wing<{
    /** @param choices `reporter` is told what is wanted, which takes minutes, and what is done of it. */
    recoveryWith(choices: {
      readonly recoverFrom: Config["recoverFrom"];
      readonly reporter: RecoverReporter;
    }): RecoverBills;
    /** The ledgers of an account whose tax records are not believed. */
    readNotRecovered(
      db: Queryable,
      account: string,
    ): Promise<readonly { readonly productType: string; readonly why: string }[]>;
  }>;
  readonly serve?: Wing<{
    serveCommand(
      config: Config,
      io: Io,
      where: { readonly port: number; readonly host: string },
    ): Promise<Result>;
  }>;
};

/** A command's access to its process and to wings. */
export type Io = Process & { readonly wings: Wings };

export type ExitCode = Result["exit"];

/** Prints a result. A failed write is reported to `io.onOutputError`. */
export const print = (io: Process, text: string): void => write(io, asTyped(io, text));

const write = (io: Process, text: string): void => {
  io.out.write(`${printable(text)}\n`, (error) => {
    if (error) io.onOutputError(error);
  });
};

/** Prints a message that is no result. */
export const note = (io: Process, message: string): void => {
  io.err.write(`${printable(asTyped(io, message))}\n`);
};

/** The outputs that have received their JSON document. */
const answered = new WeakSet<NodeJS.WriteStream>();

const printJson = (io: Process, value: unknown): void => {
  answered.add(io.out);
  write(io, asTyped(io, printableJson(JSON.stringify(value, null, 2))));
};

/** Prints a result, and returns its exit code. */
export function answer(io: Process, result: Result): ExitCode {
  const { exit, isSummary = false, isJson = false, parts } = result;
  if (io.isJson || isJson) printJson(io, asJson(result));
  else if (parts.length > 0)
    print(isSummary ? { ...io, onOutputError: () => undefined } : io, asText(result));
  return exit;
}

/**
 * Prints the error of a failed command as the document that `--json` promises, unless the command
 * has printed its own document.
 */
export function printErrorJson(io: Process, error: unknown, exitCode: ExitCode): void {
  // Callers who ask for JSON parse exactly one document.
  if (answered.has(io.out)) return;
  const kind = error instanceof ReportableError ? error.kindInJson : "defect";
  printJson(io, { error: { message: messageOf(error), kind, exitCode } });
}

/** One message and an exit code for everything that a command throws. */
export async function fail(io: Process, thrown: unknown): Promise<ExitCode> {
  const error = await explainedIfNeeded(firstThrown(thrown));
  const defect = `defect: ${thrown instanceof Error ? thrown.stack : thrown}`;
  const unforeseen = isOutOfFiles(error) ? `${messageOf(error)}: ${openFilesRemedy}` : defect;
  note(io, error instanceof ReportableError ? messageOf(error) : unforeseen);
  const { exitCode } = exitOfThrown(error);
  if (io.isJson) printErrorJson(io, error, exitCode);
  return exitCode;
}

/** What the driver throws, explained. The driver is loaded only then: `--help` takes half of the time without it. */
async function explainedIfNeeded(error: unknown): Promise<unknown> {
  if (error instanceof ReportableError) return error;
  try {
    const { explained } = await import("../core/postgres/database-errors.ts");
    return explained(error);
  } catch {
    // No module can be read where the process may open no more files.
    return error;
  }
}

/**
 * Resolves on Ctrl-C. A pending promise alone does not keep the process alive, but a timer does.
 */
export async function stopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const alive = setInterval(() => undefined, hourMs);
  await once(signal, "abort");
  clearInterval(alive);
}
