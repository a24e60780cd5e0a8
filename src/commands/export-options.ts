import { type EpochMs, epochMs } from "../contract/time.ts";
import { UsageError } from "../errors.ts";
import { type FormatName, formatNames } from "../export/formats.ts";
import { didYouMean } from "../nearest.ts";
import { type Selection, selectionOf } from "./selection.ts";

/** What was typed behind `export`. */
export type ExportWords = {
  readonly format: string;
  readonly account?: readonly string[];
  readonly product?: readonly string[];
  readonly from?: string;
  readonly to?: string;
  readonly output?: string;
  readonly force?: boolean;
};

export type ExportOptions = Selection & {
  readonly format: FormatName;
  readonly from: EpochMs | undefined;
  readonly to: EpochMs | undefined;
  /** Standard output where there is none. */
  readonly output: string | undefined;
  /** Whether a file that exists may be replaced. */
  readonly force: boolean;
};

/** @throws UsageError for a word that cannot be meant, with the nearest that can. */
export function exportOptions(words: ExportWords): ExportOptions {
  const from = words.from === undefined ? undefined : timeOf("--from", words.from);
  const to = words.to === undefined ? undefined : timeOf("--to", words.to);
  if (from !== undefined && to !== undefined && from >= to) {
    throw new UsageError(
      `--from ${words.from} --to ${words.to} holds no time: --to is not in it, and must be later`,
    );
  }
  return {
    format: formatOf(words.format),
    ...selectionOf(words),
    from,
    to,
    output: words.output,
    force: words.force ?? false,
  };
}

function formatOf(word: string): FormatName {
  const format = formatNames.find((name) => name === word);
  if (format !== undefined) return format;
  const meant = didYouMean(word, formatNames) || ` (there are ${formatNames.join(", ")})`;
  throw new UsageError(`--format "${word}" is not a format${meant}`);
}

const isoPattern =
  /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/** A time without its zone is refused: it would be another moment on another machine. */
function timeOf(option: string, text: string): EpochMs {
  const [, date] = isoPattern.exec(text) ?? [];
  const time = Date.parse(text);
  // What JavaScript reads of 30 February is 2 March.
  const isDate = date !== undefined && new Date(date).toJSON()?.startsWith(date);
  if (isDate && !Number.isNaN(time)) return epochMs(time);
  throw new UsageError(
    `${option} "${text}" is not a time: write 2026-01-31 for its midnight in UTC, or ` +
      "2026-01-31T09:30:00Z",
  );
}
