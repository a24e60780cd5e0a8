import { systemClock } from "../clock.ts";
import type { LogLevel } from "../config/config.ts";
import { isoTime } from "../contract/time.ts";
import { messageOf, StoppedError } from "../errors.ts";
import { type Log, openLog } from "../log.ts";
import type { BillsProgress } from "../sync/stream-run.ts";
import { openProgress } from "../terminal/progress.ts";
import type { Io } from "./io.ts";
import type { SyncResult } from "./sync-result.ts";
import { errorText } from "./sync-summary.ts";

/** How a run is watched: bars on a terminal, NDJSON lines elsewhere. */
export type Reporter = Disposable & {
  readonly progress: (progress: BillsProgress) => void;
  readonly notice: (message: string) => void;
  readonly warn: (message: string) => void;
  /** How it ended. Nothing more is shown; what follows on the terminal is not overwritten. */
  readonly end: (result: SyncResult) => void;
};

export function openReporter(level: LogLevel, io: Io): Reporter {
  if (io.err.isTTY) {
    const { update, notice, stop } = openProgress(io.err, systemClock.now);
    return { progress: update, notice, warn: notice, end: stop, [Symbol.dispose]: stop };
  }
  const log = openLog(level);
  return {
    progress: (event) => logProgress(log, event),
    notice: (message) => log.info(message),
    warn: (message) => log.warn(message),
    end: (result) => logEnd(log, result),
    [Symbol.dispose]: () => undefined,
  };
}

const levelOf = {
  complete: "info",
  stopped: "warn",
  incomplete: "error",
  failed: "error",
  held: "warn",
} as const satisfies Record<SyncResult["outcome"], keyof Log>;

function logEnd(log: Log, result: SyncResult): void {
  const { runId, outcome, elapsedMs } = result;
  const end = { runId, outcome, elapsedMs: Math.round(elapsedMs), error: errorText(result) };
  log[levelOf[outcome]](end, `sync ended: ${outcome}`);
}

function logProgress(log: Log, progress: BillsProgress): void {
  const { account, productType } = progress.stream;
  switch (progress.event) {
    case "planned":
      log.info({ account, productType, windows: progress.windows }, "planned");
      break;
    case "request":
      if (progress.failure !== undefined) {
        const { code, kind, message } = progress.failure;
        log.warn({ account, productType, code, kind }, `a request failed: ${message}`);
      }
      break;
    case "page": {
      const { counts } = progress;
      const window = { from: isoTime(progress.window.from), to: isoTime(progress.window.to) };
      log.debug({ account, productType, window, ...counts }, "page stored");
      if (counts.rejected > 0) {
        log.warn(
          { account, productType, window, rejected: counts.rejected },
          "rows that broke the contract were put into rejected_bills",
        );
      }
      break;
    }
    case "divided": {
      const { from, to } = progress.window;
      const window = { from: isoTime(from), to: isoTime(to) };
      const kept = { from: isoTime(progress.kept.from), to: isoTime(progress.kept.to) };
      log.debug({ account, productType, window, kept }, "window divided: slots were idle");
      break;
    }
    case "failed":
      if (progress.error instanceof StoppedError) break;
      log.error({ account, productType }, messageOf(progress.error));
      break;
    default:
      progress satisfies never;
  }
}
