import type { LogLevel } from "../accounts/settings.ts";
import type { ProductType } from "../core/contract/product-types.ts";
import type { BillsProgress } from "../core/sync/ledger-run.ts";
import { asTyped } from "../lib/as-typed.ts";
import { type Clock, repeatEvery, systemClock } from "../lib/clock.ts";
import { type ExchangeError, messageOf, StoppedError } from "../lib/errors.ts";
import { printable } from "../lib/printable.ts";
import { isoTime, minuteMs, secondMs } from "../lib/time.ts";
import { notAvailableLines } from "../output/account-remarks.ts";
import { formatCounted, formatDuration, ledgerName, ledgerNames } from "../output/text.ts";
import { errorText } from "./exit-code.ts";
import type { Io } from "./io.ts";
import { type Log, openLog } from "./log.ts";
import { endText, type SyncResult } from "./sync-result.ts";

/** How a run is shown: a line that is redrawn on a terminal, elsewhere NDJSON lines, at least one a minute. */
export type Reporter = Disposable & {
  readonly progress: (progress: BillsProgress) => void;
  /** Of a step of the run, more is planned or done. */
  readonly step: (step: Step, change: Partial<Amounts>) => void;
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
    ? terminalReporter(io.err, clock.now, (message) => asTyped(io, message))
    : logReporter(openLog(level, io), clock);
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
  let isOver = false;
  let isDrawn = false;
  const draw = (...messages: readonly string[]) => {
    const line = isOver ? [] : [run.line ?? []].flat();
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
    if (!isOver && run.line !== undefined) {
      draw();
      terminal.write("\n");
    }
    isOver = true;
    isDrawn = false;
  };
  return {
    progress(event) {
      run.update(event);
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
    step: (step, change) => run.step(step, change),
    notice: (message) => draw(message),
    warn: (message) => draw(message),
    end,
    [Symbol.dispose]: end,
  };
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
    step: (step, change) => run.step(step, change),
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
  const { runId, outcome, elapsedMs, accounts } = result;
  for (const { account, notAvailable = [] } of accounts) {
    for (const line of notAvailableLines(account, notAvailable)) log.info(line);
  }
  const sums = ["pages", "requests", "new", "unchanged", "restated", "rejected"] as const;
  const parts: readonly Partial<Record<(typeof sums)[number], number>>[] = accounts.flatMap(
    ({ ledgers, recovery = [] }) => [...ledgers, ...recovery],
  );
  const error = errorText(result.errors);
  const end = {
    ...{ runId, outcome, elapsedMs: Math.round(elapsedMs) },
    ...Object.fromEntries(
      sums.map((key) => [key, parts.reduce((total, part) => total + (part[key] ?? 0), 0)]),
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
        ? { level: "warn", message: "page stored, with rows that broke the API's contract", facts }
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

/** How far a run is over all its ledgers. */
type Beat = Readonly<
  Record<"pages" | "bills" | "requests" | "done", number> & Partial<Record<Step, number>>
>;

/**
 * The steps of a run, each with its share that is done, from 0 to 1: the planned time is walked, older time is recovered
 * from tax records, and what changed in each account is checked. A share falls only where another account begins.
 */
const steps = ["done", "recovered", "checked"] as const;
type Step = (typeof steps)[number];
type Amounts = { readonly planned: number; readonly done: number };

/** Counts what the ledgers of a run have done. */
class RunProgress {
  readonly #now: () => number;
  readonly #counts = { pages: 0, bills: 0, requests: 0 };
  readonly #walkedMsByWindow = new Map<string, number>();
  readonly #shares = new Map<Step, Amounts & { readonly beganAt: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  step(step: Step, { planned = 0, done = 0 }: Partial<Amounts>): void {
    const before = this.#shares.get(step) ?? { beganAt: this.#now(), planned: 0, done: 0 };
    const sums = { planned: before.planned + planned, done: before.done + done };
    this.#shares.set(step, { ...before, ...sums });
  }

  update(progress: BillsProgress): void {
    switch (progress.event) {
      case "planned":
        this.step("done", { planned: progress.plannedMs });
        break;
      case "request":
        this.#counts.requests += 1;
        break;
      case "page": {
        const { ledger, window, counts, walkedMs } = progress;
        const name = `${ledgerName(ledger)} ${window.to}`;
        const before = this.#walkedMsByWindow.get(name) ?? 0;
        this.#walkedMsByWindow.set(name, Math.max(before, walkedMs));
        this.step("done", { done: Math.max(0, walkedMs - before) });
        this.#counts.pages += 1;
        this.#counts.bills += counts.new + counts.unchanged + counts.restated;
        break;
      }
    }
  }

  get beat(): Beat {
    const shares = [...this.#shares].map(([step, { planned, done }]) => [
      step,
      planned === 0 ? 1 : Math.floor((1_000 * done) / planned) / 1_000,
    ]);
    return { ...this.#counts, done: 0, ...Object.fromEntries(shares) };
  }

  /** The line for people; undefined before anything is planned. */
  get line(): string | undefined {
    const { beat } = this;
    const step = steps.findLast((one) => this.#shares.has(one)) ?? "done";
    const share = this.#shares.get(beat.done === 1 ? step : "done");
    return share && progressLine(beat, this.#now() - share.beganAt);
  }
}

const barWidth = 30;

/** @param elapsedMs since its newest step began. */
export function progressLine({ done, recovered, checked, bills }: Beat, elapsedMs: number): string {
  const full = Math.floor(done * barWidth);
  const bar = "█".repeat(full) + "░".repeat(barWidth - full);
  const line = `${bar} ${Math.floor(done * 100)}%  ${formatCounted(bills, "bill")}`;
  const left = (share: number) =>
    share === 0 || share === 1 ? "" : `, ${timeLeft((elapsedMs * (1 - share)) / share)} left`;
  if (done < 1) return `${line}${left(done)}`;
  if (checked !== undefined) return `${line}, checking${left(checked)}`;
  return recovered === undefined
    ? line
    : `${line}, tax records ${Math.floor(recovered * 100)}%${left(recovered)}`;
}

function timeLeft(ms: number): string {
  const seconds = Math.ceil(ms / secondMs);
  return seconds < 10 ? `${seconds} s` : formatDuration(seconds * secondMs);
}
