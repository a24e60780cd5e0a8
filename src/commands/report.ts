import { inSnapshot } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { ReportableError } from "../errors.ts";
import { jsonInterval, jsonTimeOrNull } from "../output/format.ts";
import { digestCommand } from "../report/digest.ts";
import type { MonthReport } from "../report/month-report.ts";
import { readMonthReport } from "../report/read-month.ts";
import { exportOf, reportHtml, reportText } from "../report/sections.ts";
import type { Config } from "../roster/config.ts";
import { refuseUnreachable } from "../roster/reachable.ts";
import { readRoster, selectionOf } from "../roster/roster.ts";
import { monthOf } from "./export-options.ts";
import { type ExitCode, type Io, print, printJson } from "./io.ts";
import { accountOption, type Define, formatOption, productOption, type Which } from "./options.ts";
import { nothingStored, openStored } from "./stored.ts";

type Format = "text" | "html" | "json";

/**
 * `report`: a month's close. The exit code is 0 once the report is written, and the report says
 * what it lacks.
 */
async function reportCommand(
  config: Config,
  io: Io,
  { month: text, format, ...which }: ReportWords,
): Promise<ExitCode> {
  const month = monthOf(text);
  const selection = selectionOf(which);
  await using stored = await openStored(config, io);
  const { db } = stored;
  if (db === undefined) throw new ReportableError(nothingStored(config));
  await refuseUnreachable(db, config, selection);
  const report = await withDatabaseErrors(() =>
    inSnapshot(db, async (tx) => {
      const { ledgers: roster } = await readRoster(tx, config, { accounts: selection.accounts });
      return readMonthReport(tx, roster, { month, selection });
    }),
  );
  if (format === "json") printJson(io, jsonOf(report));
  else print(io, format === "html" ? reportHtml(report) : reportText(report));
  return 0;
}

const jsonOf = ({ month, span, lacking, ledgers, ...report }: MonthReport): object => ({
  month,
  ...jsonInterval(span),
  ...report,
  isComplete: lacking.length === 0,
  lacking,
  ledgers: ledgers.map(({ wallet, coverage, digest, ...ledger }) => ({
    account: wallet.account,
    productType: wallet.productType,
    productTypes: wallet.productTypes,
    closedAt: jsonTimeOrNull(wallet.closedAt),
    coverage: {
      ...coverage,
      complete: coverage.complete.map(jsonInterval),
      unread: coverage.unread.map(jsonInterval),
      lost: coverage.lost.map(jsonInterval),
      recovered: coverage.recovered.map(jsonInterval),
      older: coverage.older.map(jsonInterval),
    },
    digest: {
      ...digest,
      export: exportOf(wallet, month),
      command: digestCommand("bills.csv"),
    },
    ...ledger,
  })),
});

const help = `
For each ledger, as of one moment: what was read and what proves it, opening,
movements and closing of each coin, rejected rows, restatements, breaks, and a
SHA-256 over the month's bills with the shell command that computes it. What is
missing stands at the top. html is one file without scripts.`;

type ReportWords = Which & { readonly month: string; readonly format: Format };

export const define: Define = (report, { io, config, runs }) => {
  report
    .requiredOption("--month <month>", "the month, in UTC: 2026-10")
    .addOption(accountOption())
    .addOption(productOption())
    .addOption(formatOption("how it is written", ["text", "html", "json"]).default("text"))
    .addHelpText("after", help)
    .action(runs((words: ReportWords) => reportCommand(config(), io, words)));
};
