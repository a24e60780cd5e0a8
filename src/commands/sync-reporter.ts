import { type Clock, repeatEvery, systemClock } from "../clock.ts";
import { isoTime, minuteMs, secondMs } from "../contract/time.ts";
import { messageOf, StoppedError } from "../errors.ts";
import { type Log, openLog } from "../log.ts";
import { notAvailableLines } from "../output/account-remarks.ts";
import { formatCounted, formatDuration, streamName, streamNames } from "../output/format.ts";
import { printable } from "../printable.ts";
import type { LogLevel } from "../roster/settings.ts";
import type { BillsProgress } from "../sync/stream-run.ts";
import { errorText } from "./exit-code.ts";
import type { Io } from "./io.ts";
import { errorsOf, type SyncResult } from "./sync-result.ts";

/** How a run is shown: a line that is redrawn on a terminal, elsewhere NDJSON lines, at least one a minute. */
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
  return io.err.isTTY
    ? terminalReporter(io.err, clock.now)
    : logReporter(openLog(level, io), clock);
}

/** How far a run is over all its ledgers. */
export type Beat = {
  readonly pages: number;
  readonly bills: number;
  readonly requests: number;
  /** The share of the planned time that was walked, 0 to 1, to three decimals. */
  readonly done: number;
};

/** Counts what the ledgers of a run have done. */
class RunProgress {
  readonly #ledgers = new Map<string, LedgerProgress>();

  update(progress: BillsProgress): void {
    const name = streamName(progress.stream);
    if (progress.event === "planned") {
      const { plannedMs } = progress;
      const none = { walkedMs: 0, pages: 0, bills: 0, requests: 0 };
      this.#ledgers.set(name, { plannedMs, ...none, walkedMsByWindow: new Map() });
    }
    const ledger = this.#ledgers.get(name);
    if (ledger === undefined) return;
    if (progress.event === "request") ledger.requests += 1;
    if (progress.event !== "page") return;
    const { counts, window, walkedMs } = progress;
    const walkedBefore = ledger.walkedMsByWindow.get(window.from) ?? 0;
    const walked = Math.max(walkedBefore, walkedMs);
    ledger.walkedMsByWindow.set(window.from, walked);
    ledger.walkedMs += walked - walkedBefore;
    ledger.pages += 1;
    ledger.bills += counts.new + counts.unchanged + counts.restated;
  }

  get isPlanned(): boolean {
    return this.#ledgers.size > 0;
  }

  get beat(): Beat {
    const sum = (key: "plannedMs" | "walkedMs" | "pages" | "bills" | "requests") =>
      [...this.#ledgers.values()].reduce((total, ledger) => total + ledger[key], 0);
    const share =
      sum("plannedMs") === 0 ? Number(this.isPlanned) : sum("walkedMs") / sum("plannedMs");
    return {
      ...{ pages: sum("pages"), bills: sum("bills"), requests: sum("requests") },
      done: Math.floor(1_000 * share) / 1_000,
    };
  }
}

type LedgerProgress = {
  readonly plannedMs: number;
  readonly walkedMsByWindow: Map<number, number>;
  walkedMs: number;
  pages: number;
  bills: number;
  requests: number;
};

/** The part of a terminal that is used here. Its width may change at any time. */
type Terminal = {
  readonly columns: number;
  readonly write: (text: string) => unknown;
};

const redrawMs = 200;
const toClearedLine = "\x1b[1A\r\x1b[J";

/**
 * Redraws a line at the bottom of a terminal. The cursor stays below it and visible, so that a process that is
 * killed leaves the terminal in order.
 */
export function terminalReporter(terminal: Terminal, now: () => number): Reporter {
  const run = new RunProgress();
  const said = new Set<string>();
  let startedAt: number | undefined;
  let isDrawn = false;
  const draw = (...messages: readonly string[]) => {
    const line = startedAt === undefined ? [] : [progressLine(run.beat, now() - startedAt)];
    const width = (terminal.columns || 80) - 1;
    const lines = [...messages.map(printable), ...line.map((text) => text.slice(0, width))];
    terminal.write(`${isDrawn ? toClearedLine : ""}${lines.map((text) => `${text}\n`).join("")}`);
    isDrawn = line.length > 0;
  };
  // Redrawn without events too: the time left grows while a run stands still.
  const drawing = setInterval(draw, redrawMs).unref();
  const end = () => {
    clearInterval(drawing);
    if (startedAt !== undefined) {
      draw();
      terminal.write("\n");
    }
    startedAt = undefined;
    isDrawn = false;
  };
  return {
    progress(event) {
      run.update(event);
      if (event.event === "planned") startedAt ??= now();
      const failure = failureOf(event);
      if (failure === undefined) return;
      // A failure that is retried is reported again and again.
      const message = `${failedNames(event)}: ${messageOf(failure)}`;
      if (!said.has(message)) draw(message);
      said.add(message);
    },
    notice: (message) => draw(message),
    warn: (message) => draw(message),
    end,
    [Symbol.dispose]: end,
  };
}

/** The ledgers that an event concerns: a failure may concern several of the account. */
function failedNames(progress: BillsProgress): string {
  const { stream } = progress;
  const also = progress.event === "failed" ? (progress.also ?? []) : [];
  return streamNames([stream, ...also.map((productType) => ({ ...stream, productType }))]);
}

function failureOf(progress: BillsProgress): unknown {
  if (progress.event === "doubted") return progress.what;
  if (progress.event === "request") return progress.failure;
  if (progress.event !== "failed" || progress.error instanceof StoppedError) return undefined;
  return progress.error;
}

const barWidth = 30;

/** @param elapsedMs since the first ledger was planned. */
export function progressLine({ done, bills }: Beat, elapsedMs: number): string {
  const full = Math.floor(done * barWidth);
  const bar = "█".repeat(full) + "░".repeat(barWidth - full);
  const line = `${bar} ${Math.floor(done * 100)}%  ${formatCounted(bills, "bill")}`;
  if (done === 0 || done === 1) return line;
  const seconds = Math.ceil((elapsedMs * (1 - done)) / done / secondMs);
  return `${line}, ${seconds < 10 ? `${seconds} s` : formatDuration(seconds * secondMs)} left`;
}

/** Reports to a log, at least once a minute until it is disposed of. */
export function logReporter(log: Log, clock: Clock): Reporter {
  const run = new RunProgress();
  const over = new AbortController();
  // Otherwise a log would show nothing between the plan of a long run and its end.
  void repeatEvery(clock, minuteMs, over.signal, () => log.info(run.beat, "at work"));
  return {
    progress(event) {
      run.update(event);
      logProgress(log, event);
    },
    notice: (message) => log.info(message),
    warn: (message) => log.warn(message),
    end(result) {
      over.abort();
      logEnd(log, result);
    },
    [Symbol.dispose]: () => over.abort(),
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
