import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dayMs } from "../../src/lib/time.ts";
import type { History } from "./history.ts";
import { timeText } from "./time-checks.ts";

// A play takes some tenths of a second, less with a small history.
const playsMax = 400;

/**
 * Finds a smaller history that breaks the same promise: removes steps, faults and quirks greedily,
 * as long as it still breaks.
 * @param stillBreaks plays a history; whether the same promise is broken.
 */
export async function shrink(
  history: History,
  stillBreaks: (candidate: History) => Promise<boolean>,
): Promise<History> {
  const tried = new Set([JSON.stringify(history)]);
  const breaks = async (candidate: History): Promise<boolean> => {
    const text = JSON.stringify(candidate);
    if (tried.has(text) || tried.size >= playsMax) return false;
    tried.add(text);
    return stillBreaks(candidate);
  };
  let smallest = history;
  for (let before: History | undefined; before !== smallest; ) {
    before = smallest;
    for (const simpler of reductions) smallest = await reduced(smallest, simpler, breaks);
  }
  return smallest;
}

type Simpler = (history: History) => readonly History[];

/** Tries all candidates, and keeps each that still breaks the promise. */
async function reduced(
  history: History,
  simpler: Simpler,
  breaks: (candidate: History) => Promise<boolean>,
): Promise<History> {
  let smallest = history;
  let candidates = simpler(smallest);
  for (let place = 0; place < candidates.length; ) {
    const candidate = candidates[place];
    if (candidate !== undefined && (await breaks(candidate))) {
      smallest = candidate;
      candidates = simpler(smallest);
    } else {
      place += 1;
    }
  }
  return smallest;
}

/** Nothing happens beside the syncs. */
const withoutEvents = (history: History): readonly History[] => [
  {
    ...history,
    steps: history.steps.map((step) => ({
      ...step,
      ...{ recent: [], exchange: [], database: [], process: [] },
    })),
  },
];

/** Without some of the steps; or without one, whose time passes before the next step. */
function fewerSteps(history: History): readonly History[] {
  const { steps } = history;
  const merged = steps.slice(1).map((next, index) => {
    const passMs = (steps[index]?.passMs ?? 0) + next.passMs;
    return steps.toSpliced(index, 2, { ...next, passMs });
  });
  return [...fewer(steps), ...merged]
    .filter(({ length }) => length > 0)
    .map((some) => ({ ...history, steps: some }));
}

/** A ledger that ends with the steps, or at their start, after which nothing new happens. */
function nearerEnds(history: History): readonly History[] {
  const { ledger, steps } = history;
  const spanMs = steps.reduce((sum, { passMs }) => sum + passMs, 0);
  return [0, Math.ceil(spanMs / dayMs) + 1]
    .filter((futureDays) => futureDays < ledger.futureDays)
    .map((futureDays) => ({ ...history, ledger: { ...ledger, futureDays } }));
}

const quirks = ["lastPage", "shortLastPage", "shortPages", "pageRows", "sortedBy", "pageOrder"];
const optional = [
  ...[...quirks, "bounds", "inclusiveCursor", "paging", "pastHorizon"],
  ...["records", "restatedAfterMs", "broken", "times"],
];
const zeroable = [
  "jitterMs",
  "crowd",
  "aheadMs",
  "lateMs",
  "oddDecimals",
  "brokenRows",
  "idJitterMs",
];
const neverEmpty = ["steps", "modes", "productTypes"];

/** Everything that a value may be in its place, if one part of it is simpler or is not there. */
function simpler(value: unknown, name: string): readonly unknown[] {
  if (Array.isArray(value)) {
    const others = value.flatMap((item, index) =>
      simpler(item, "").map((other) => value.with(index, other)),
    );
    const some = fewer(value).filter(({ length }) => length > 0 || !neverEmpty.includes(name));
    return [...some, ...others];
  }
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([key, part]) => [
      ...(optional.includes(key) ? [{ ...value, [key]: undefined }] : []),
      ...simpler(part, key).map((other) => ({ ...value, [key]: other })),
    ]);
  }
  if (name === "density" && Number(value) > 0.01) return [Number(value) / 4];
  return value === true ? [false] : zeroable.includes(name) && value !== 0 ? [0] : [];
}

/** No items; each half; all but one. */
function fewer<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  const middle = Math.ceil(items.length / 2);
  return [
    ...(items.length > 1 ? [[]] : []),
    ...(items.length > 3 ? [items.slice(0, middle), items.slice(middle)] : []),
    ...items.map((_, index) => items.toSpliced(index, 1)),
  ];
}

// A simpler event may depend on others, so whole ones are tried first.
const reductions: readonly Simpler[] = [
  withoutEvents,
  fewerSteps,
  nearerEnds,
  (history) => simpler(history, "") as readonly History[],
];

// Milliseconds since the epoch, from 2001 to 2033, that are not part of a longer number.
const times = /(?<![\d.])1\d{12}(?:\.\d+)?(?!\d)/g;

/** A line of a history's trace for people, with its times as ISO 8601. */
export const readable = (line: string): string =>
  line.replaceAll(times, (time) => timeText(Number(time)));

/** Writes them to the system's folder for temporary files; the same history to the same file. */
export function saveShrunk(history: History, trace: readonly string[]) {
  const text = `${JSON.stringify(history, undefined, 2)}\n`;
  const content = createHash("sha256").update(text).digest("hex").slice(0, 8);
  const base = join(tmpdir(), `bill-sync-history-${history.seed}-${content}`);
  const files = { history: `${base}.json`, trace: `${base}.trace.txt` };
  writeFileSync(files.history, text);
  writeFileSync(files.trace, `${trace.join("\n")}\n`);
  return files;
}
