import { firstThrown } from "./errors.ts";

const outOfFiles = /\bE[MN]FILE\b|too many open files|insufficient file descriptors/i;

/** Whether a text says that no more files and connections could be opened. */
export const saysOutOfFiles = (text: string): boolean => outOfFiles.test(text);

/** Whether that is why something was thrown; a module that could not be read is among it. */
export function isOutOfFiles(thrown: unknown): boolean {
  const error = firstThrown(thrown);
  return error instanceof Error && (saysOutOfFiles(error.message) || isOutOfFiles(error.cause));
}

/** What most systems allow. The embedded server takes some 60, a sync ten for each account. */
const openFilesNeeded = 1_024;

export const openFilesRemedy =
  "the limit on open files (ulimit -n) is too low; raise it to " +
  `${openFilesNeeded}: ulimit -n ${openFilesNeeded} in a shell, LimitNOFILE=${openFilesNeeded} in a systemd unit`;
