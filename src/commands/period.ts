import type { Command } from "commander";
import { isZone, periodIn, startOfDay } from "../books/export/time-zone.ts";
import { UsageError } from "../lib/errors.ts";
import { type EpochMs, epochMs } from "../lib/time.ts";
import { accountOption, productOption } from "./options.ts";

/** The options of a file that leaves the house: of which ledgers and time, and in which zone. */
export const exporting = (command: Command, unit: "time" | "day" = "time"): Command =>
  command
    .addOption(accountOption())
    .addOption(productOption())
    .option("--month <month>", "a whole month: 2026-10")
    .option("--year <year>", "a whole year: 2026")
    .option(
      `--from <${unit}>`,
      `from this ${unit} on, inclusive: 2026-01-31${unit === "day" ? "" : " or 2026-01-31T09:30Z"}`,
    )
    .option(`--to <${unit}>`, `before this ${unit}, exclusive`)
    .option("--time-zone <zone>", "the zone of dates and days: Europe/Berlin; default: UTC");

const isoPattern =
  /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/**
 * A time that a user typed, or none: a date, which is its first moment in the zone, or a time with its
 * offset. A time without an offset is refused, since it would be another moment on another machine.
 * @throws UsageError that names the option.
 */
export function typedTime(
  option: string,
  text: string | undefined,
  zone: string,
): EpochMs | undefined {
  if (text === undefined) return undefined;
  const [, date, clock] = isoPattern.exec(text) ?? [];
  const time = Date.parse(text);
  // JavaScript parses 30 February as 2 March.
  const isDate = date !== undefined && new Date(date).toJSON()?.startsWith(date);
  if (isDate && !Number.isNaN(time)) {
    return clock === undefined ? startOfDay(date, zone) : epochMs(time);
  }
  throw new UsageError(
    `${option} "${text}" is not a time: write 2026-01-31 for its midnight in ${zone}, or 2026-01-31T09:30Z, ` +
      "with Z or an offset such as +01:00",
  );
}

/** What was typed of a time: a whole month or year, or its start and its end, and the zone of these. */
export type PeriodFlags = {
  readonly month?: string;
  readonly year?: string;
  readonly from?: string;
  readonly to?: string;
  readonly timeZone?: string;
};

/** @throws UsageError for a text that is no time, for words that do not go together, and for an empty span. */
export function periodOf({ month, year, ...typed }: PeriodFlags, zone: string) {
  if (month !== undefined && year !== undefined)
    throw new UsageError("--month and --year do not go together: leave one out");
  if (month !== undefined && !/^\d{4}-(?:0[1-9]|1[0-2])$/.test(month))
    throw new UsageError(`--month "${month}" is not a month: write 2026-10`);
  if (year !== undefined && !/^\d{4}$/.test(year))
    throw new UsageError(`--year "${year}" is not a year: write 2026`);
  const name = month ?? year;
  if (name !== undefined && (typed.from ?? typed.to) !== undefined)
    throw new UsageError("--month and --year set the start and the end: leave out --from and --to");
  if (name !== undefined) return { name, ...periodIn(name, zone) };
  const from = typedTime("--from", typed.from, zone);
  const to = typedTime("--to", typed.to, zone);
  if (from !== undefined && to !== undefined && from >= to)
    throw new UsageError(
      `--from ${typed.from} --to ${typed.to} is an empty span: --to is exclusive and must be later than --from`,
    );
  return { name, from, to };
}

/** @throws UsageError for a text that is no time zone. */
export function zoneOf(text: string): string {
  // A bare offset has no summer time, so it cannot say which months an office keeps.
  if (/^[A-Za-z]/.test(text) && isZone(text)) return text;
  throw new UsageError(
    `--time-zone "${text}" is not a time zone: write UTC, or a name such as Europe/Berlin`,
  );
}
