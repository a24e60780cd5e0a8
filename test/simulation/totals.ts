import { dayMs, secondMs } from "../../src/contract/time.ts";
import type { HistoryResult } from "./play.ts";
import { type PromiseName, promises } from "./verdicts.ts";

/** The totals of many histories. */
export class Totals {
  histories = 0;
  runs = 0;
  requests = 0;
  bills = 0;
  simulatedMs = 0;
  readonly faults = new Map<string, number>();
  readonly checked = new Map<PromiseName, number>();
  readonly broken = new Map<PromiseName, number>();
  readonly failures: HistoryResult[] = [];

  add(result: HistoryResult): void {
    this.histories += 1;
    this.runs += result.runs;
    this.requests += result.requests;
    this.bills += result.bills;
    this.simulatedMs += result.simulatedMs;
    for (const [kind, count] of Object.entries(result.faults)) sum(this.faults, kind, count);
    for (const promise of promises) sum(this.checked, promise, result.checked[promise] ?? 0);
    for (const promise of new Set(result.broken.map((broken) => broken.promise))) {
      sum(this.broken, promise, 1);
    }
    if (result.broken.length > 0) this.failures.push(result);
  }

  table(elapsedMs: number): string {
    const months = this.simulatedMs / (30 * dayMs);
    const faults = [...this.faults].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const injected = faults.reduce((all, [, count]) => all + count, 0);
    return [
      row("histories", this.histories),
      row("runs", this.runs),
      row("requests", this.requests),
      row("bills at the end", this.bills),
      row("months of exchange time", Math.round(months)),
      row("faults", injected),
      "",
      ...faults.map(([kind, count]) => row(`  ${kind}`, count)),
      "",
      `${"promise".padEnd(nameWidth)}${"looked at".padStart(numberWidth)}${"broken in histories".padStart(22)}`,
      ...promises.map((promise) => {
        const broken = String(this.broken.get(promise) ?? 0).padStart(22);
        return `${row(promise, this.checked.get(promise) ?? 0)}${broken}`;
      }),
      "",
      `${Math.round(elapsedMs / secondMs)} s, ${Math.round(elapsedMs / this.histories)} ms a history`,
    ].join("\n");
  }
}

const nameWidth = 36;
const numberWidth = 14;

const row = (name: string, count: number): string =>
  `${name.padEnd(nameWidth)}${count.toLocaleString("en").padStart(numberWidth)}`;

const sum = <Key>(counts: Map<Key, number>, key: Key, count: number): void =>
  void counts.set(key, (counts.get(key) ?? 0) + count);
