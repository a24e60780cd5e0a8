import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { History } from "./history.ts";
import { timeText } from "./time-checks.ts";

// Milliseconds since the epoch, from 2001 to 2033, that are not part of a longer number.
const times = /(?<![\d.])1\d{12}(?:\.\d+)?(?!\d)/g;

/** A line of a history's trace for people, with its times as ISO 8601. */
export const readable = (line: string): string =>
  line.replaceAll(times, (time) => timeText(Number(time)));

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
