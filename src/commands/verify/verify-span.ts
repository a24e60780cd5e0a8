import { type EpochMs, isoTime } from "../../contract/time.ts";
import { UsageError } from "../../errors.ts";
import type { Interval } from "../../sync/intervals.ts";
import { horizonAt } from "../../sync/plan.ts";
import { typedTime } from "../typed-times.ts";

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
  const from = typedTime("--from", typed.from, "UTC");
  const to = typedTime("--to", typed.to, "UTC");
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
