import { readFile } from "node:fs/promises";

const packageFile = new URL("../../package.json", import.meta.url);

/**
 * The flags with which npm run starts Node. If the heap may grow to 2 GiB or more, V8 lets it grow
 * to four times the live memory before it collects, otherwise to twice. The young generation is
 * small: rows die young, and 2 MB cost a backfill 30 MiB less than 16, and a tenth more CPU.
 */
export const nodeFlags: readonly string[] = JSON.parse(
  await readFile(packageFile, "utf8"),
).scripts.sync.match(/--\S+/g);
