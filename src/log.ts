import { type Logger, pino } from "pino";
import type { LogLevel } from "./config/config.ts";
import { printableJson } from "./printable.ts";

export type Log = Pick<Logger, "debug" | "info" | "warn" | "error">;

/** NDJSON on standard error: standard output is for results. */
export function openLog(level: LogLevel): Log {
  return pino(
    {
      level,
      base: { program: "bill-sync" },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    // Synchronous: the last line before an exit is written too.
    printed(pino.destination({ dest: 2, sync: true })),
  );
}

/** A log is read on terminals too, and JSON spells out only some of what they act on. */
const printed = (to: pino.DestinationStream): pino.DestinationStream => ({
  write: (line) => to.write(printableJson(line)),
});
