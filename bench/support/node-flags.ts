import { readFile } from "node:fs/promises";

const packageFile = new URL("../../package.json", import.meta.url);

/**
 * What npm run gives to Node. Where the heap may grow to 2 GiB and more, V8 lets it become four
 * times what is alive before it collects, below that twice; the nursery that it takes by itself is
 * twice as large. A backfill has 175 MiB resident so, and 280 without.
 */
export const nodeFlags: readonly string[] = JSON.parse(
  await readFile(packageFile, "utf8"),
).scripts.sync.match(/--\S+/g);
