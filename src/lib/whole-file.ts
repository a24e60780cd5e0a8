import { randomBytes } from "node:crypto";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** A file that appears complete or not at all, however this process ends. */
export type WholeFile = AsyncDisposable & {
  write(chunk: string | Uint8Array): Promise<void>;
  /** Gives the file its name, in place of what had it. Survives a power cut. */
  commit(): Promise<void>;
};

type WholeFileOptions = {
  /** Of the file, less the umask. Default only this user may read it. */
  readonly mode?: number;
  /** The path under which it is made. Default one in the same folder that nobody can foresee. */
  readonly partial?: string;
};

/**
 * Where other users may write to the folder, one of them may have put a file or a link under any name
 * that he can foresee. So the file is always a new one.
 * @throws the system's error: EEXIST where `partial` exists.
 */
export async function makeWholeFile(
  path: string,
  { mode = 0o600, partial = unforeseen(path) }: WholeFileOptions = {},
): Promise<WholeFile> {
  // Exclusive: neither an existing file nor a link is opened.
  const file = await open(partial, "wx", mode);
  let isCommitted = false;
  return {
    write: (chunk) => file.writeFile(chunk),
    commit: async () => {
      await file.sync();
      await file.close();
      await rename(partial, path);
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

const unforeseen = (path: string): string =>
  join(dirname(path), `.${basename(path)}.${randomBytes(16).toString("base64url")}.partial`);

/** Makes the new name survive a power cut, if the file system can sync folders. */
async function syncFolder(path: string): Promise<void> {
  let folder: FileHandle | undefined;
  try {
    folder = await open(path);
    await folder.sync();
  } catch {
    // The file itself is already on the disk.
  } finally {
    await folder?.close();
  }
}
