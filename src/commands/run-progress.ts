import type { BillsProgress } from "../core/sync/ledger-run.ts";
import { secondMs } from "../lib/time.ts";
import { formatCounted, formatDuration, ledgerName } from "../output/output-format.ts";

/** How far a run is over all its ledgers. */
export type Beat = Readonly<
  Record<"pages" | "bills" | "requests" | "done", number> & Partial<Record<Step, number>>
>;

/**
 * The steps of a run, each with its share that is done, from 0 to 1: the planned time is walked, older time is recovered
 * from tax records, and what changed in each account is checked. A share falls only where another account begins.
 */
const steps = ["done", "recovered", "checked"] as const;
export type Step = (typeof steps)[number];
export type Amounts = { readonly planned: number; readonly done: number };

/** Counts what the ledgers of a run have done. */
export class RunProgress {
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
        const name = `${ledgerName(ledger)} ${window.from}`;
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
