import { asTyped } from "../as-typed.ts";
import { type Clock, repeatEvery, systemClock } from "../clock.ts";
import type { ProductType } from "../contract/product-types.ts";
import { isoTime, minuteMs, secondMs } from "../contract/time.ts";
import { type ExchangeError, messageOf, StoppedError } from "../errors.ts";
import { type Log, openLog } from "../log.ts";
import { notAvailableLines } from "../output/account-remarks.ts";
import { formatCounted, formatDuration, ledgerName, ledgerNames } from "../output/format.ts";
import { printable } from "../printable.ts";
import type { LogLevel } from "../roster/settings.ts";
import type { BillsProgress } from "../sync/ledger-run.ts";
import { errorText } from "./exit-code.ts";
import type { Io } from "./io.ts";
import type { SyncResult } from "./sync-result.ts";
import { endText } from "./sync-summary.ts";

/** How a run is shown: a line that is redrawn on a terminal, elsewhere NDJSON lines, at least one a minute. */
export type Reporter = Disposable & {
  readonly progress: (progress: BillsProgress) => void;
  /** @param recoverMs of the notice that tax records are read now: for about how long. */
  readonly notice: (message: string, recoverMs?: number) => void;
  readonly warn: (message: string) => void;
  /**
   * Shows how the run ended. Nothing more is shown, and later output on the terminal is not
   * overwritten.
   */
  readonly end: (result: SyncResult) => void;
};

export function openReporter(level: LogLevel, io: Io, clock: Clock = systemClock): Reporter {
  return io.err.isTTY
    ? terminalReporter(io.err, clock.now, (message) => asTyped(io, message))
    : logReporter(openLog(level, io), clock);
}

/** How far a run is over all its ledgers. */
export type Beat = {
  readonly pages: number;
  readonly bills: number;
  readonly requests: number;
  /** The share of the planned time that was walked, 0 to 1, to three decimals. */
  readonly done: number;
  /** About how long tax records are still read, after the planned time is walked; left out where none are. */
  readonly recoverMs?: number;
};

/** Counts what the ledgers of a run have done. */
class RunProgress {
  readonly #now: () => number;
  readonly #counts = { pages: 0, bills: 0, requests: 0 };
  readonly #walkedMsByWindow = new Map<string, number>();
  #plannedMs: number | undefined;
  #walkedMs = 0;
  #recoveredAt: number | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Tax records are read now, for about so long. */
  recover(forMs: number): void {
    this.#recoveredAt = Math.max(this.#recoveredAt ?? 0, this.#now() + forMs);
  }

  update(progress: BillsProgress): void {
    switch (progress.event) {
      case "planned":
        this.#plannedMs = (this.#plannedMs ?? 0) + progress.plannedMs;
        break;
      case "request":
        this.#counts.requests += 1;
        break;
      case "page": {
        const { ledger, window, counts, walkedMs } = progress;
        const name = `${ledgerName(ledger)} ${window.from}`;
        const before = this.#walkedMsByWindow.get(name) ?? 0;
        this.#walkedMsByWindow.set(name, Math.max(before, walkedMs));
        this.#walkedMs += Math.max(0, walkedMs - before);
        this.#counts.pages += 1;
        this.#counts.bills += counts.new + counts.unchanged + counts.restated;
        break;
      }
    }
  }

  get beat(): Beat {
    const plannedMs = this.#plannedMs ?? 0;
    const share = plannedMs === 0 ? Number(this.#plannedMs === 0) : this.#walkedMs / plannedMs;
    return {
      ...this.#counts,
      done: Math.floor(1_000 * share) / 1_000,
      ...(this.#recoveredAt !== undefined && {
        recoverMs: Math.max(0, this.#recoveredAt - this.#now()),
      }),
    };
  }
}

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
export function terminalReporter(
  terminal: Terminal,
  now: () => number,
  typed: (message: string) => string = (message) => message,
): Reporter {
  const run = new RunProgress(now);
  const said = new Set<string>();
  let startedAt: number | undefined;
  let isDrawn = false;
  const draw = (...messages: readonly string[]) => {
    const line = startedAt === undefined ? [] : [progressLine(run.beat, now() - startedAt)];
    const width = (terminal.columns || 80) - 1;
    const lines = [
      ...messages.map((message) => printable(typed(message))),
      ...line.map((text) => text.slice(0, width)),
    ];
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
      // The summary says how many rows are rejected.
      const entry = event.event === "page" ? undefined : entryOf(event);
      if (entry?.level !== "warn" && entry?.level !== "error") return;
      const { ledger } = event;
      const others = entry.also?.map((productType) => ({ ...ledger, productType })) ?? [];
      // A failure that is retried is reported at each try.
      const message = `${ledgerNames([ledger, ...others])}: ${entry.message}`;
      if (!said.has(message)) draw(message);
      said.add(message);
    },
    notice(message, recoverMs) {
      if (recoverMs !== undefined) run.recover(recoverMs);
      draw(message);
    },
    warn: (message) => draw(message),
    end,
    [Symbol.dispose]: end,
  };
}

const barWidth = 30;

/** @param elapsedMs since the first ledger was planned. */
export function progressLine({ done, bills, recoverMs }: Beat, elapsedMs: number): string {
  const full = Math.floor(done * barWidth);
  const bar = "█".repeat(full) + "░".repeat(barWidth - full);
  const line = `${bar} ${Math.floor(done * 100)}%  ${formatCounted(bills, "bill")}`;
  if (recoverMs !== undefined && done === 1)
    return `${line}, tax records${recoverMs > 0 ? `: about ${timeLeft(recoverMs)} left` : ""}`;
  if (done === 0 || done === 1) return line;
  return `${line}, ${timeLeft((elapsedMs * (1 - done)) / done)} left`;
}

function timeLeft(ms: number): string {
  const seconds = Math.ceil(ms / secondMs);
  return seconds < 10 ? `${seconds} s` : formatDuration(seconds * secondMs);
}

/** Reports to a log, at least once a minute until it is disposed of. */
export function logReporter(log: Log, clock: Clock): Reporter {
  const run = new RunProgress(clock.now);
  const over = new AbortController();
  // Otherwise a log would show nothing between the plan of a long run and its end.
  void repeatEvery(clock, minuteMs, over.signal, () => log.info(run.beat, "at work"));
  return {
    progress(event) {
      run.update(event);
      logProgress(log, event);
    },
    notice(message, recoverMs) {
      if (recoverMs !== undefined) run.recover(recoverMs);
      log.info(message);
    },
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
  const { runId, outcome, elapsedMs, accounts } = result;
  for (const { account, notAvailable = [] } of accounts) {
    for (const line of notAvailableLines(account, notAvailable)) log.info(line);
  }
  const sums = ["pages", "requests", "new", "unchanged", "restated", "rejected"] as const;
  const ledgers = accounts.flatMap((report) => report.ledgers);
  const error = errorText(result.errors);
  const end = {
    ...{ runId, outcome, elapsedMs: Math.round(elapsedMs) },
    ...Object.fromEntries(
      sums.map((key) => [key, ledgers.reduce((total, ledger) => total + ledger[key], 0)]),
    ),
    ...(error !== null && { error }),
  };
  log[levelOf[outcome]](end, `sync ended: ${outcome === "complete" ? endText(result) : outcome}`);
}

function logProgress(log: Log, progress: BillsProgress): void {
  const { account, productType } = progress.ledger;
  const entry = entryOf(progress);
  if (entry === undefined) return;
  const also = entry.also && { also: entry.also.join(", ") };
  log[entry.level]({ account, productType, ...also, ...entry.facts }, entry.message);
}

const failureText = ({ message }: Pick<ExchangeError, "message">): string =>
  `a request failed: ${message}`;

/** Tells people that a request for an account, a ledger or a list failed. */
export const noticeFailure =
  (notice: (message: string) => void, name: string) =>
  (failure: Pick<ExchangeError, "message">): void =>
    notice(`${name}: ${failureText(failure)}`);

type Entry = {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly facts?: object;
  /** Other product types of the account that it concerns. */
  readonly also?: readonly ProductType[] | undefined;
};

/** The log's text for an event; undefined if it has none. People at a terminal see failures only. */
function entryOf(progress: BillsProgress): Entry | undefined {
  switch (progress.event) {
    case "planned":
      return { level: "info", message: "planned", facts: { windows: progress.windows } };
    case "request": {
      if (progress.failure === undefined) return undefined;
      const { code, kind } = progress.failure;
      return { level: "warn", message: failureText(progress.failure), facts: { code, kind } };
    }
    case "page": {
      const { counts, window } = progress;
      const facts = { from: isoTime(window.from), to: isoTime(window.to), ...counts };
      return counts.rejected > 0
        ? { level: "warn", message: "page stored, with rows that broke the contract", facts }
        : { level: "debug", message: "page stored", facts };
    }
    case "doubted":
      return { level: "warn", message: progress.what };
    case "failed":
      return progress.error instanceof StoppedError
        ? undefined
        : { level: "error", message: messageOf(progress.error), also: progress.also };
    default:
      return progress satisfies never;
  }
}
