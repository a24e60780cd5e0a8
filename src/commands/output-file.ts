import { stat } from "node:fs/promises";
import { messageOf, ReportableError, UsageError } from "../lib/errors.ts";
import { printable } from "../lib/printable.ts";
import { makeWholeFile, type WholeFile } from "../lib/whole-file.ts";
import type { Io } from "./io.ts";

/** The reader of standard output is gone, or it accepts no more data: cli.ts tells which. */
export class OutputClosedError extends Error {}

/**
 * @param shown the path as the user typed it, for messages.
 * @throws UsageError if a file exists or the path is no file, before anything is done.
 */
export async function refuseTakenOutput(
  path: string,
  force: boolean,
  shown = `--output ${path}`,
): Promise<void> {
  const file = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new UsageError(`${shown} cannot be written (${error.message})`);
  });
  if (file === undefined) return;
  if (!file.isFile()) throw new UsageError(`${shown} is not a file; name one`);
  if (!force) throw new UsageError(`${shown} exists; add --force to replace it`);
}

/** Standard output. On a terminal, characters that would control it are spelled out. */
export function standardOutput(io: Io): WholeFile {
  const shown = (chunk: string | Uint8Array) =>
    io.out.isTTY && typeof chunk === "string" ? printable(chunk.replaceAll("\r\n", "\n")) : chunk;
  return {
    write: (chunk) =>
      new Promise((resolve, reject) => {
        io.out.write(shown(chunk), (error) => {
          if (!error) return resolve();
          io.onOutputError(error);
          reject(new OutputClosedError("standard output is closed", { cause: error }));
        });
      }),
    commit: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** A file that appears complete or not at all, however this process ends. */
export async function fileOutput(
  path: string,
  { shown = `--output ${path}`, mode = 0o666 } = {},
): Promise<WholeFile> {
  const failing = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error) => {
      throw new ReportableError(
        `${shown} could not be written: ${messageOf(error)}; what was there before is unchanged`,
        { cause: error },
      );
    });
  const file = await failing(makeWholeFile(path, { mode }));
  return {
    write: (chunk) => failing(file.write(chunk)),
    commit: () => failing(file.commit()),
    [Symbol.asyncDispose]: async () => await file[Symbol.asyncDispose](),
  };
}
