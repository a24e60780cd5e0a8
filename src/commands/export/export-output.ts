import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Io } from "../../app/io.ts";
import { messageOf, ReportableError, UsageError } from "../../errors.ts";

/** Where an export goes. Before its commit there is no file, but for one under another name. */
export type Output = AsyncDisposable & {
  write(chunk: string | Uint8Array): Promise<void>;
  commit(): Promise<void>;
};

/** The reader of standard output has gone, or it takes nothing more: cli.ts tells which. */
export class OutputClosedError extends Error {
  override name = "OutputClosedError";
}

/**
 * @param shown the path as the user typed it, for messages.
 * @throws UsageError for a file that exists, or is none, before anything is done.
 */
export async function refuseTakenOutput(
  path: string,
  force: boolean,
  shown = `--output ${path}`,
): Promise<void> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new UsageError(`${shown} cannot be written (${error.message})`);
  });
  if (found === undefined) return;
  if (!found.isFile()) throw new UsageError(`${shown} is not a file; name one`);
  if (!force) throw new UsageError(`${shown} exists; add --force to replace it`);
}

/**
 * Standard output. A terminal is shown text with what it would act on spelled out.
 * @param spell of the format: JSON stays JSON.
 */
export function standardOutput(io: Io, spell: (text: string) => string): Output {
  const shown = (chunk: string | Uint8Array) =>
    io.out.isTTY && typeof chunk === "string" ? spell(chunk.replaceAll("\r\n", "\n")) : chunk;
  return {
    write: (chunk) =>
      new Promise((resolve, reject) => {
        io.out.write(shown(chunk), (error) => {
          if (!error) return resolve();
          io.lost(error);
          reject(new OutputClosedError("standard output is closed", { cause: error }));
        });
      }),
    commit: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** A file that is there as a whole or not at all, whatever ends this process. */
export async function fileOutput(
  path: string,
  { shown = `--output ${path}`, mode = 0o666 } = {},
): Promise<Output> {
  const partial = join(dirname(path), `.${basename(path)}.${process.pid}.partial`);
  const failing = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error) => {
      throw new ReportableError(
        `${shown} could not be written: ${messageOf(error)}; what was there before is unchanged`,
        { cause: error },
      );
    });
  const file = await failing(open(partial, "w", mode));
  let isCommitted = false;
  return {
    write: (chunk) => failing(file.writeFile(chunk)),
    commit: async () => {
      await failing(file.sync());
      await failing(file.close());
      await failing(rename(partial, path));
      isCommitted = true;
      await syncFolder(dirname(path));
    },
    [Symbol.asyncDispose]: async () => {
      if (isCommitted) return;
      await file.close().catch(() => undefined);
      await rm(partial, { force: true });
    },
  };
}

/** So that the new name outlives a power cut, where the file system lets folders be synced. */
async function syncFolder(path: string): Promise<void> {
  let folder: FileHandle | undefined;
  try {
    folder = await open(path);
    await folder.sync();
  } catch {
    // The file itself is on the disk.
  } finally {
    await folder?.close();
  }
}
