import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { History } from "./history.ts";

/** Writes them to the system's folder for temporary files; the same history to the same file. */
export function saveShrunk(history: History, trace: readonly string[]) {
  const text = `${JSON.stringify(history, undefined, 2)}\n`;
  const content = createHash("sha256").update(text).digest("hex").slice(0, 8);
  const base = join(tmpdir(), `bill-sync-history-${history.seed}-${content}`);
  const files = { history: `${base}.json`, trace: `${base}.trace.txt` };
  writeFileSync(files.history, text);
  writeFileSync(files.trace, `${trace.join("\n")}\n`);
  return files;
}
