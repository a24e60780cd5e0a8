import { MultiBar, Presets, type SingleBar } from "cli-progress";
import { secondMs } from "../contract/time.ts";
import { messageOf } from "../errors.ts";
import type { BillsProgress } from "../sync/stream-run.ts";
import { formatCount, formatDuration } from "./format.ts";

export type Progress = {
  readonly update: (progress: BillsProgress) => void;
  readonly notice: (message: string) => void;
  readonly stop: () => void;
};

type StreamBar = {
  readonly bar: SingleBar;
  readonly walkedMsByWindow: Map<string, number>;
  pages: number;
  bills: number;
  requests: number;
};

const barFormat =
  "{name} {bar} {percentage}%  {pages} pages  {bills} bills  {rate} requests/s  {left}";

/** A bar per product type: the share of the planned time that is behind the walks. */
export function openProgress(stream: NodeJS.WriteStream, now: () => number): Progress {
  const bars = new MultiBar(
    { stream, format: barFormat, hideCursor: true, barsize: 24, fps: 5, noTTYOutput: false },
    Presets.shades_classic,
  );
  const streams = new Map<string, StreamBar>();
  const startedAt = now();

  return {
    update(progress) {
      const name = `${progress.stream.account}/${progress.stream.productType}`;
      let entry = streams.get(name);
      if (progress.event === "planned") {
        entry = openBar(bars, name, progress.plannedMs);
        streams.set(name, entry);
      }
      if (entry === undefined) return;
      if (progress.event === "request") entry.requests += 1;
      if (progress.event === "page") countPage(entry, progress);
      if (progress.event === "failed") bars.log(`${name}: ${messageOf(progress.error)}\n`);
      draw(entry, now() - startedAt);
    },
    notice: (message) => bars.log(`${message}\n`),
    stop: () => bars.stop(),
  };
}

function openBar(bars: MultiBar, name: string, plannedMs: number): StreamBar {
  const bar = bars.create(Math.max(1, plannedMs), 0, { name: name.padEnd(20) });
  return { bar, walkedMsByWindow: new Map(), pages: 0, bills: 0, requests: 0 };
}

function countPage(entry: StreamBar, page: Extract<BillsProgress, { event: "page" }>): void {
  entry.pages += 1;
  entry.bills += page.counts.new + page.counts.unchanged + page.counts.restated;
  const window = `${page.window.from}`;
  const walkedMs = Math.max(entry.walkedMsByWindow.get(window) ?? 0, page.walkedMs);
  entry.walkedMsByWindow.set(window, walkedMs);
}

function draw({ bar, walkedMsByWindow, pages, bills, requests }: StreamBar, elapsedMs: number) {
  const walkedMs = [...walkedMsByWindow.values()].reduce((sum, ms) => sum + ms, 0);
  const share = walkedMs / bar.getTotal();
  const leftMs = share > 0 ? (elapsedMs * (1 - share)) / share : undefined;
  bar.update(walkedMs, {
    pages: formatCount(pages),
    bills: formatCount(bills),
    rate: ((requests * secondMs) / Math.max(elapsedMs, secondMs)).toFixed(1),
    left: leftMs === undefined ? "" : share >= 1 ? "done" : `${formatDuration(leftMs)} left`,
  });
}
