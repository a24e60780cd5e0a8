import { type Clock, systemClock } from "../clock.ts";
import { isoTime } from "../contract/time.ts";
import { messageOf, StoppedError } from "../errors.ts";
import { type Log, openLog } from "../log.ts";
import { notAvailableLines } from "../output/account-remarks.ts";
import { openHeartbeat, openProgress } from "../output/progress.ts";
import type { LogLevel } from "../roster/settings.ts";
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

function logProgress(log: Log, progress: BillsProgress): void {
  const { account, productType } = progress.stream;
  const [level, facts, message] = entryOf(progress) ?? [];
  if (level !== undefined) log[level]({ account, productType, ...facts }, message);
}

/** What the log says of an event; undefined where it says nothing. */
function entryOf(
  progress: BillsProgress,
): readonly ["debug" | "info" | "warn" | "error", object, string] | undefined {
  switch (progress.event) {
    case "planned":
      return ["info", { windows: progress.windows }, "planned"];
    case "request": {
      if (progress.failure === undefined) return undefined;
      const { code, kind, message } = progress.failure;
      return ["warn", { code, kind }, `a request failed: ${message}`];
    }
    case "page": {
      const { counts, window } = progress;
      const page = { from: isoTime(window.from), to: isoTime(window.to), ...counts };
      return counts.rejected > 0
        ? ["warn", page, "page stored, with rows that broke the contract"]
        : ["debug", page, "page stored"];
    }
    case "doubted":
      return ["warn", {}, progress.what];
    case "failed": {
      if (progress.error instanceof StoppedError) return undefined;
      const also = progress.also && { also: progress.also.join(", ") };
      return ["error", { ...also }, messageOf(progress.error)];
    }
    default:
      return progress satisfies never;
  }
}
