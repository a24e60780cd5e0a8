import { type EpochMs, epochMs } from "../contract/time.ts";
import { UsageError } from "../errors.ts";
import { isZone, startOfDay } from "../export/time-zone.ts";

const isoPattern =
  /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/**
 * A time that a user typed: a date, which is its first moment in the zone, or a time with its
 * offset. A time without an offset is refused, since it would be another moment on another machine.
 * @throws UsageError that names the option.
 */
export function typedTime(option: string, text: string, zone: string): EpochMs {
  const [, date, clock] = isoPattern.exec(text) ?? [];
  const time = Date.parse(text);
  // JavaScript parses 30 February as 2 March.
  const isDate = date !== undefined && new Date(date).toJSON()?.startsWith(date);
  if (isDate && !Number.isNaN(time)) {
    return clock === undefined ? startOfDay(date, zone) : epochMs(time);
  }
  const midnight = zone === "UTC" ? "its midnight in UTC" : `its midnight in ${zone}`;
  throw new UsageError(
    `${option} "${text}" is not a time: write 2026-01-31 for ${midnight}, or 2026-01-31T09:30Z, ` +
      "with Z or an offset such as +01:00",
  );
}

/** @throws UsageError for a text that is no month. */
export function monthOf(text: string): string {
  if (/^\d{4}-(?:0[1-9]|1[0-2])$/.test(text)) return text;
  throw new UsageError(`--month "${text}" is not a month: write 2026-10`);
}

/** @throws UsageError for a text that is no time zone. */
export function zoneOf(text: string | undefined): string {
  if (text === undefined) return "UTC";
  // A bare offset has no summer time, so it cannot say which months an office keeps.
  if (/^[A-Za-z]/.test(text) && isZone(text)) return text;
  throw new UsageError(
    `--time-zone "${text}" is not a time zone: write UTC, or a name such as Europe/Berlin`,
  );
}
