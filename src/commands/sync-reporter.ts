import { type Clock, systemClock } from "../clock.ts";
import { isoTime } from "../contract/time.ts";
import { messageOf, StoppedError } from "../errors.ts";
import { type Log, openLog } from "../log.ts";
import { notAvailableLines } from "../output/account-remarks.ts";
import { openHeartbeat, openProgress } from "../output/progress.ts";
import type { LogLevel } from "../roster/settings.ts";
import type { Interval } from "../sync/intervals.ts";
import type { BillsProgress } from "../sync/stream-run.ts";
import { errorText } from "./exit-code.ts";
import type { Io } from "./io.ts";
import { errorsOf, type SyncResult } from "./sync-result.ts";

/** How a run is shown: bars on a terminal, elsewhere NDJSON lines, at least one a minute. */
export type Reporter = Disposable & {
  readonly progress: (progress: BillsProgress) => void;
  readonly notice: (message: string) => void;
  readonly warn: (message: string) => void;
  /**
   * Shows how the run ended. Nothing more is shown, and later output on the terminal is not
   * overwritten.
   */
  readonly end: (result: SyncResult) => void;
};

export function openReporter(level: LogLevel, io: Io, clock: Clock = systemClock): Reporter {
  if (io.err.isTTY) {
    const { update, notice, stop } = openProgress(io.err, clock.now);
    return { progress: update, notice, warn: notice, end: stop, [Symbol.dispose]: stop };
  }
  return logReporter(openLog(level, io), clock);
}

/** Reports to a log. */
export function logReporter(log: Log, clock: Clock): Reporter {
  const heartbeat = openHeartbeat(clock, (beat) => log.info(beat, "at work"));
  return {
    progress(event) {
      heartbeat.update(event);
      logProgress(log, event);
    },
    notice: (message) => log.info(message),
    warn: (message) => log.warn(message),
    end(result) {
      heartbeat[Symbol.dispose]();
      logEnd(log, result);
    },
    [Symbol.dispose]: heartbeat[Symbol.dispose],
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
  const { runId, outcome, elapsedMs, reports } = result;
  for (const { account, notAvailable = [] } of reports) {
    for (const line of notAvailableLines(account, notAvailable)) log.info(line);
  }
  const streams = reports.flatMap((report) => report.streams);
  const sum = (key: "pages" | "requests" | "new" | "unchanged" | "restated" | "rejected") =>
    streams.reduce((total, stream) => total + stream[key], 0);
  const error = errorText(errorsOf(result));
  const end = {
    ...{ runId, outcome, elapsedMs: Math.round(elapsedMs) },
    ...{ pages: sum("pages"), requests: sum("requests"), new: sum("new") },
    ...{ unchanged: sum("unchanged"), restated: sum("restated"), rejected: sum("rejected") },
    ...(error !== null && { error }),
  };
  log[levelOf[outcome]](end, `sync ended: ${outcome}`);
}

const spanOf = ({ from, to }: Interval) => ({ from: isoTime(from), to: isoTime(to) });

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
      const window = spanOf(progress.window);
      log.debug({ account, productType, window, ...counts }, "page stored");
      if (counts.rejected > 0) {
        log.warn(
          { account, productType, window, rejected: counts.rejected },
          "rows that broke the contract were put into rejected_bills",
        );
      }
      break;
    }
    case "doubted":
      log.warn({ account, productType }, progress.what);
      break;
    case "divided": {
      const window = spanOf(progress.window);
      const kept = spanOf(progress.kept);
      log.debug({ account, productType, window, kept }, "window divided: slots were idle");
      break;
    }
    case "failed":
      if (progress.error instanceof StoppedError) break;
      log.error(
        { account, productType, ...(progress.also && { also: progress.also.join(", ") }) },
        messageOf(progress.error),
      );
      break;
    default:
      progress satisfies never;
  }
}
