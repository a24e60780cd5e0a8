import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { messageOf, ReportableError, UsageError } from "../errors.ts";
import type { Io } from "./io.ts";

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
 * @throws UsageError for a file that exists, or is none, before anything is done.
 */
export async function refuseTakenOutput(path: string, force: boolean): Promise<void> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new UsageError(`--output ${path} cannot be written (${error.message})`);
  });
  if (found === undefined) return;
  if (!found.isFile()) throw new UsageError(`--output ${path} is not a file; name one`);
  if (!force) throw new UsageError(`--output ${path} exists; add --force to replace it`);
}

export function standardOutput(io: Io): Output {
  return {
    write: (chunk) =>
      new Promise((resolve, reject) => {
        io.out.write(chunk, (error) => {
          if (error) reject(new OutputClosedError("standard output is closed", { cause: error }));
          else resolve();
        });
      }),
    commit: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** A file that is there as a whole or not at all, whatever ends this process. */
export async function fileOutput(path: string): Promise<Output> {
  const partial = join(dirname(path), `.${basename(path)}.${process.pid}.partial`);
  const failing = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error) => {
      throw new ReportableError(
        `--output ${path} could not be written: ${messageOf(error)}; what was there before is unchanged`,
        { cause: error },
      );
    });
  const file = await failing(open(partial, "w"));
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
