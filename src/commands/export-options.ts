import { readFile } from "node:fs/promises";
import { selectionOf } from "../accounts/roster.ts";
import { type FormatName, formatOf } from "../books/export/formats.ts";
import { type Prices, readPrices } from "../books/export/prices.ts";
import { dayIn, isZone, periodIn, startOfDay } from "../books/export/time-zone.ts";
import { UsageError } from "../lib/errors.ts";
import { type EpochMs, epochMs } from "../lib/time.ts";
import type { LedgerFlags } from "./options.ts";

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

export type PricesFlags = {
  readonly prices?: string | undefined;
  readonly currency?: string | undefined;
};

/** @throws UsageError for a file that cannot be read, or that is no file of prices. */
export async function pricesOf({
  prices: path,
  currency,
}: PricesFlags): Promise<Prices | undefined> {
  if (path === undefined) {
    if (currency !== undefined) throw new UsageError("--currency needs --prices FILE");
    return undefined;
  }
  const text = await readFile(path, "utf8").catch((error: Error) => {
    throw new UsageError(`--prices ${path} cannot be read (${error.message})`);
  });
  return readPrices(text, path, currency);
}

/** The options that were typed after `export`. */
export type ExportFlags = LedgerFlags &
  PeriodFlags &
  PricesFlags & {
    readonly format: FormatName;
    readonly changedSince?: string;
    /** True if the option was typed without a time. */
    readonly continue?: string | true;
    readonly spreadsheet?: boolean;
    readonly output?: string;
    readonly force?: boolean;
  };

export type ExportOptions = ReturnType<typeof exportOptions>;

/** @throws UsageError for words that are wrong, or do not go together. */
export function exportOptions(words: ExportFlags) {
  const { format, output, force = false, spreadsheet = false } = words;
  const zone = zoneOf(words.timeZone ?? "UTC");
  const { from, to } = periodOf(words, zone);
  const changedSince = typedTime("--changed-since", words.changedSince, zone);
  if (changedSince !== undefined && formatOf(format).isJournal)
    throw new UsageError(
      `--changed-since and --format ${format} do not go together: a journal needs every bill of its time`,
    );
  const continues = continuesOf(words, from, zone);
  const { prices, currency } = words;
  if (prices !== undefined && !formatOf(format).isJournal)
    throw new UsageError(`--prices is for journals and report: ${format} has no prices`);
  if (spreadsheet && format !== "csv")
    throw new UsageError(`--spreadsheet is for csv only: ${format} needs none`);
  return {
    ...selectionOf(words),
    ...{ format, output, force, spreadsheet, prices, currency },
    ...{ zone, from, to, changedSince, continues },
  };
}

function continuesOf(
  { continue: word, format }: ExportFlags,
  from: EpochMs | undefined,
  zone: string,
): { readonly since: EpochMs | undefined } | undefined {
  if (word === undefined) return undefined;
  if (!formatOf(format).isJournal)
    throw new UsageError(`--continue is for journals only: a file of ${format} continues no other`);
  if (from === undefined)
    throw new UsageError(
      "--continue needs --from, --month or --year: the time at which the file before it ends",
    );
  const dayOf = dayIn(zone);
  if (dayOf(from) === dayOf((from - 1) as EpochMs))
    throw new UsageError(
      "--continue needs a --from at midnight: a journal asserts balances at the ends of days",
    );
  const since = word === true ? undefined : typedTime("--continue", word, zone);
  if (since !== undefined && since >= from)
    throw new UsageError(
      `--continue ${word} is not before --from; give the time at which the first file began`,
    );
  return { since };
}
