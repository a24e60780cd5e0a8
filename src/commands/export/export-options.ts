import type { EpochMs } from "../../contract/time.ts";
import { UsageError } from "../../errors.ts";
import { type FormatName, formatNames, isJournal } from "../../export/formats.ts";
import { dayIn, monthIn } from "../../export/time-zone.ts";
import { didYouMean } from "../../nearest.ts";
import { type Selection, selectionOf } from "../../roster/roster.ts";
import { monthOf, typedTime, zoneOf } from "../typed-times.ts";

/** The options that were typed after `export`. */
export type ExportWords = {
  readonly format: string;
  readonly account?: readonly string[];
  readonly product?: readonly string[];
  readonly from?: string;
  readonly to?: string;
  readonly month?: string;
  readonly timeZone?: string;
  readonly changedSince?: string;
  /** True if the option was typed without a time. */
  readonly continue?: string | true;
  readonly demo?: boolean;
  readonly output?: string;
  readonly force?: boolean;
};

export type ExportOptions = Selection & {
  readonly format: FormatName;
  readonly from: EpochMs | undefined;
  readonly to: EpochMs | undefined;
  /**
   * A name of the IANA time zones. It says which days typed dates and a journal's entries belong
   * to.
   */
  readonly zone: string;
  /** Only bills whose content was stored at or after this time of the database's clock. */
  readonly changedSince: EpochMs | undefined;
  /** Set if this export continues earlier files. `since` is where those files begin. */
  readonly continues: { readonly since: EpochMs | undefined } | undefined;
  /** Whether to include demo trading in formats where it would pass for real money. */
  readonly demo: boolean;
  /** Undefined for standard output. */
  readonly output: string | undefined;
  /** Whether an existing file may be replaced. */
  readonly force: boolean;
};

/** @throws UsageError for an invalid word, with the nearest valid one. */
export function exportOptions(words: ExportWords): ExportOptions {
  const zone = zoneOf(words.timeZone);
  const { from, to } = spanOf(words, zone);
  const format = formatOf(words.format);
  const changedSince =
    words.changedSince === undefined
      ? undefined
      : typedTime("--changed-since", words.changedSince, zone);
  if (changedSince !== undefined && isJournal(format)) {
    throw new UsageError(
      `--changed-since and --format ${format} do not go together: a journal needs every bill of its time`,
    );
  }
  return {
    format,
    ...selectionOf(words),
    from,
    to,
    zone,
    changedSince,
    continues: continuesOf(words, { format, from, zone }),
    demo: words.demo ?? false,
    output: words.output,
    force: words.force ?? false,
  };
}

function spanOf(
  { from, to, month }: ExportWords,
  zone: string,
): { readonly from: EpochMs | undefined; readonly to: EpochMs | undefined } {
  if (month !== undefined) {
    if (from === undefined && to === undefined) return monthIn(monthOf(month), zone);
    throw new UsageError("--month sets the start and the end; leave out --from and --to");
  }
  const span = {
    from: from === undefined ? undefined : typedTime("--from", from, zone),
    to: to === undefined ? undefined : typedTime("--to", to, zone),
  };
  if (span.from !== undefined && span.to !== undefined && span.from >= span.to) {
    throw new UsageError(
      `--from ${from} --to ${to} is an empty span: --to is exclusive and must be later than --from`,
    );
  }
  return span;
}

function continuesOf(
  words: ExportWords,
  { format, from, zone }: Pick<ExportOptions, "format" | "from" | "zone">,
): ExportOptions["continues"] {
  if (words.continue === undefined) return undefined;
  if (!isJournal(format)) {
    throw new UsageError(`--continue is for journals only: a file of ${format} continues no other`);
  }
  if (from === undefined) {
    throw new UsageError(
      "--continue needs --from or --month: the time at which the file before it ends",
    );
  }
  const dayOf = dayIn(zone);
  if (dayOf(from) === dayOf((from - 1) as EpochMs)) {
    throw new UsageError(
      "--continue needs a --from at midnight: a journal asserts balances at the ends of days",
    );
  }
  const since = words.continue === true ? undefined : typedTime("--continue", words.continue, zone);
  if (since !== undefined && since >= from) {
    throw new UsageError(
      `--continue ${words.continue} is not before --from; give the time at which the first file began`,
    );
  }
  return { since };
}

function formatOf(word: string): FormatName {
  const format = formatNames.find((name) => name === word);
  if (format !== undefined) return format;
  const meant = didYouMean(word, formatNames) || ` (there are ${formatNames.join(", ")})`;
  throw new UsageError(`--format "${word}" is not a format${meant}`);
}
