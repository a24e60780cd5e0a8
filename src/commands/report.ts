import { Option } from "commander";
import type { Config } from "../accounts/config.ts";
import { readRoster, selectionOf, selectionOfBooks } from "../accounts/roster.ts";
import { dayIn } from "../books/export/time-zone.ts";
import { type ReportOptions, shownMax } from "../books/report/close-report.ts";
import { readCloseReport } from "../books/report/read-close.ts";
import {
  reportCsv,
  reportHtml,
  reportJson,
  reportText,
  tableNames,
} from "../books/report/write-report.ts";
import { inSnapshot } from "../core/postgres/connect.ts";
import { UsageError } from "../lib/errors.ts";
import { epochMs, isoTime } from "../lib/time.ts";
import { done, type Result } from "../output/result.ts";
import { type Io, note } from "./io.ts";
import { type Define, formatOption, type LedgerFlags } from "./options.ts";
import { exporting, type PeriodFlags, periodOf, typedTime, zoneOf } from "./period.ts";
import { openFilled } from "./stored.ts";

type ReportFlags = LedgerFlags &
  PeriodFlags & {
    readonly signedAt?: string;
    readonly format: keyof typeof writers | "csv" | "json";
    readonly table?: string;
  };

const writers = { text: reportText, html: reportHtml };

/**
 * `report`: a close. The exit code is 0 once the report is written, and the report says what is missing.
 */
async function reportCommand(config: Config, io: Io, words: ReportFlags): Promise<Result> {
  const { format, table = "rollforward" } = words;
  if (words.table !== undefined && format !== "csv")
    throw new UsageError(`--table is for csv only: ${format} has all tables`);
  const zone = zoneOf(words.timeZone ?? "UTC");
  const time = closedTime(words, zone);
  const signedAt = typedTime("--signed-at", words.signedAt, zone);
  await using stored = await openFilled(config, io);
  const { db } = stored;
  const say = (line: string) => note(io, line);
  const selection = await selectionOfBooks(db, config, selectionOf(words), say);
  const report = await inSnapshot(db, async (tx) => {
    const { ledgers: roster } = await readRoster(tx, config, { accounts: selection.accounts });
    const rowsMax = format === "text" || format === "html" ? shownMax : undefined;
    const options = { ...time, zone, signedAt, selection, limits: config.healthLimits, rowsMax };
    return readCloseReport(tx, roster, options);
  });
  if (signedAt !== undefined && isoTime(signedAt) > report.generatedAt)
    throw new UsageError(
      `--signed-at "${words.signedAt}" is after now, ${report.generatedAt}: write the time that the signed report says`,
    );
  if (format === "csv") for (const line of report.problems) note(io, `warning: ${line}`);
  if (format === "json") return { data: reportJson(report), parts: [], exit: 0, isJson: true };
  return done(format === "csv" ? reportCsv(report, table) : writers[format](report));
}

/** The whole days of a close, and their name. */
function closedTime(words: PeriodFlags, zone: string): Pick<ReportOptions, "period" | "span"> {
  const { from, to, name } = periodOf(words, zone);
  if (from === undefined || to === undefined)
    throw new UsageError(
      "which time? --month 2026-10, --year 2026, or whole days: --from 2026-01-01 --to 2026-10-01",
    );
  const dayOf = dayIn(zone);
  const lastDay = dayOf(epochMs(to - 1));
  for (const [option, time] of [
    ["--from", from],
    ["--to", to],
  ] as const)
    if (dayOf(time) === dayOf(epochMs(time - 1)))
      throw new UsageError(
        `${option} is not the start of a day in ${zone}: a close is of whole days`,
      );
  return { period: name ?? `${dayOf(from)} to ${lastDay}`, span: { from, to } };
}

const help = `
What was read and what proves it, opening, movements and closing of each coin,
the exchange's own balances, contracts, restatements, breaks and who accepted
them, and a SHA-256 over the bills with the shell command that computes it. What
is unread or does not add up stands at the top. html is one file without scripts
and prints on A4; csv has the lines of the rollforwards, or another table.

--signed-at TIME lists what changed after the close was signed; the close says
the time to keep.`;

export const define: Define = (report, { io, config, runs }) => {
  exporting(report, "day")
    .option("--signed-at <time>", "list what changed since the close was signed then")
    .addOption(formatOption("how it is written", ["text", "html", "csv", "json"]).default("text"))
    .addOption(
      new Option("--table <name>", `with csv, its table: ${tableNames.join(", ")}`).choices(
        tableNames,
      ),
    )
    .addHelpText("after", help)
    .action(runs((words: ReportFlags) => reportCommand(config(), io, words)));
};
