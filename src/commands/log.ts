import { type Logger, pino } from "pino";
import type { LogLevel } from "../accounts/settings.ts";
import { asTyped } from "../lib/as-typed.ts";
import { printableJson } from "../lib/printable.ts";

export type Log = Pick<Logger, "debug" | "info" | "warn" | "error">;

// What a full disk does not take is kept for when it has room again; past this, lines are dropped.
const keptCharsMax = 1_024 * 1_024;

/**
 * NDJSON on standard error: standard output is for results. A line that cannot be written (a full
 * disk, a reader that has gone) ends nothing: the work goes on, and its exit code tells of the work.
 */
export function openLog(
  level: LogLevel,
  { err, npm }: { readonly err: NodeJS.WritableStream; readonly npm?: object | undefined },
): Log {
  // Synchronous: the last line before an exit is written too.
  const to =
    "fd" in err
      ? pino
          .destination({ dest: Number(err.fd), sync: true, maxLength: keptCharsMax })
          .on("error", () => undefined)
      : err;
  return pino(
    {
      level,
      base: { program: "bill-sync" },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    // A log is read on terminals too, and JSON spells out only some of what they act on.
    { write: (line: string) => to.write(printableJson(asTyped({ npm }, line))) },
  );
}
