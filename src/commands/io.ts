import { once } from "node:events";
import { hourMs } from "../contract/time.ts";
import {
  AccountHeldError,
  DatabaseError,
  ExchangeError,
  messageOf,
  ReportableError,
  StoppedError,
  UsageError,
} from "../errors.ts";
import { printable, printableJson } from "../printable.ts";

/** A command's access to its process. Results go to `out`, everything else to `err`. */
export type Io = {
  readonly out: NodeJS.WriteStream;
  readonly err: NodeJS.WriteStream;
  /** Whether npm runs the program: then commands are named as they are typed there. Default not. */
  readonly isRunByNpm?: boolean;
  /** Aborts with a StoppedError when the user asks the command to stop. */
  readonly signal: AbortSignal;
  /** Called if a result could not be written: the command has then failed, whatever it did. */
  readonly lost: (error: Error) => void;
};

/** 0 done and complete · 1 not complete · 2 wrong usage or config · 3 another run is at work */
export type ExitCode = 0 | 1 | 2 | 3;

/** Commands in a text, which are written "bill-sync sync --json", as the user types them. */
export const asTyped = ({ isRunByNpm = false }: Pick<Io, "isRunByNpm">, text: string): string =>
  isRunByNpm
    ? text.replaceAll(
        /\bbill-sync ([a-z]+)( [^;:,\n]*)?/g,
        (_, name: string, rest = "") =>
          `npm run ${name}${/ --[a-z]/.test(rest) ? " --" : ""}${rest}`,
      )
    : text;

/** Prints a result. A failed write is reported to `io.lost`. */
export const print = (io: Io, text: string): void => {
  io.out.write(`${printable(asTyped(io, text))}\n`, (error) => {
    if (error) io.lost(error);
  });
};

/** Prints a summary of work that is done. A failed write is no failure of the work. */
export const printSummary = (io: Pick<Io, "out" | "isRunByNpm">, text: string): void => {
  io.out.write(`${printable(asTyped(io, text))}\n`);
};

/** Prints a message that is no result. */
export const tell = (io: Pick<Io, "err" | "isRunByNpm">, message: string): void => {
  io.err.write(`${printable(asTyped(io, message))}\n`);
};

/** The outputs that have received their JSON document. */
const answered = new WeakSet<NodeJS.WriteStream>();

export const printJson = (io: Io, value: unknown): void => {
  answered.add(io.out);
  print(io, printableJson(JSON.stringify(value, null, 2)));
};

/** Whether a JSON document was printed. Callers who ask for JSON parse exactly one. */
export const hasPrintedJson = (io: Io): boolean => answered.has(io.out);

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

/**
 * Resolves on Ctrl-C. A pending promise alone does not keep the process alive, but a timer does.
 */
export async function stopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const alive = setInterval(() => undefined, hourMs);
  await once(signal, "abort");
  clearInterval(alive);
}
