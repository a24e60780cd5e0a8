import { type EpochMs, epochMs, isoTime } from "../../contract/time.ts";
import { UsageError } from "../../errors.ts";
import type { Interval } from "../../sync/intervals.ts";
import { horizonAt } from "../../sync/plan.ts";

const iso = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/;

/**
 * Parses the span to read.
 * @param now this machine's time.
 * @throws UsageError if a text is no time, or the span is empty, in the future or older than the
 * exchange serves.
 */
export function readSpan(
  typed: { readonly from: string; readonly to: string },
  now: EpochMs,
): Interval {
  const from = timeOf("--from", typed.from);
  const to = timeOf("--to", typed.to);
  if (from >= to) {
    throw new UsageError(
      `--from ${typed.from} is not before --to ${typed.to}, which is exclusive: nothing is between them`,
    );
  }
  for (const [option, time] of [
    ["--from", from],
    ["--to", to],
  ] as const) {
    if (time <= now) continue;
    throw new UsageError(
      `${option} ${isoTime(time)} lies in the future; give a time up to now, ${isoTime(now)}`,
    );
  }
  const horizon = horizonAt(now);
  if (to <= horizon) {
    throw new UsageError(
      `--to ${typed.to} is more than 90 days ago: the exchange serves nothing before ${isoTime(horizon)}`,
    );
  }
  return { from, to };
}

function timeOf(option: string, text: string): EpochMs {
  const [, date] = iso.exec(text) ?? [];
  const time = date === undefined ? Number.NaN : Date.parse(text);
  // Date.parse reads 2026-02-30 as 2 March.
  const isDay = date !== undefined && !Number.isNaN(Date.parse(date)) && dayOf(date) === date;
  if (isDay && !Number.isNaN(time)) return epochMs(time);
  throw new UsageError(
    `${option} "${text}" is not a time; give a date, 2026-11-01, which is its midnight UTC, or ` +
      "2026-11-01T12:00Z, with Z or an offset such as +01:00",
  );
}

const dayOf = (date: string): string => new Date(Date.parse(date)).toISOString().slice(0, 10);
