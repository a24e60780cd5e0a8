import { movements } from "../../export/movements.ts";
import { formatCount, formatInterval, formatTable } from "../../output/format.ts";
import { streamName } from "../../output/stream-names.ts";
import { digestCommand } from "./digest.ts";
import type { LedgerMonth, Listed, MonthReport } from "./month-report.ts";
import { breakRow, closedText, exportOf, rejectedRow, restatementRow, titles } from "./rows.ts";

/** The report as text. */
export function reportText(report: MonthReport): string {
  const { month, generatedAt, versions, lacking, accepted, ledgers } = report;
  return [
    `${month}, UTC, as stored ${generatedAt}`,
    `bill-sync ${versions.program}, Node ${versions.node}, Postgres ${versions.postgres}, ${versions.schema}`,
    "",
    ...(lacking.length === 0
      ? [
          accepted.length === 0
            ? "complete: all of the month was read, it adds up, and nothing is open"
            : `complete, with ${accepted.join(" and ")}`,
        ]
      : ["NOT COMPLETE OR NOT SETTLED:", ...lacking.map((line) => `  ${line}`)]),
    ...ledgers.map((ledger) => ledgerText(ledger, month)),
  ].join("\n");
}

function ledgerText(ledger: LedgerMonth, month: string): string {
  const { wallet, coverage, digest, reconciledAt } = ledger;
  const spans = [
    ...coverage.complete.map((span) => `  read      ${formatInterval(span)}`),
    ...coverage.missing.map((span) => `  MISSING   ${formatInterval(span)}`),
    ...coverage.lost.map((span) => `  LOST      ${formatInterval(span)}`),
  ];
  return [
    "",
    `== ${streamName(wallet)}`,
    ...(wallet.closedAt === undefined ? [] : [`  ${closedText(wallet)}`]),
    ...spans,
    `  reconciled ${reconciledAt ?? "never"}`,
    "",
    rollforwardText(ledger),
    "",
    `  ${formatCount(digest.bills)} bills, SHA-256 ${digest.sha256}, which these commands ` +
      `compute, too:`,
    `    ${exportOf(wallet, month)} > bills.csv`,
    `    ${digestCommand("bills.csv")}`,
    ...section("rejected rows, not resolved", titles.rejected, ledger.rejected, rejectedRow),
    ...section("restatements", titles.restatements, ledger.restatements, restatementRow),
    ...section("breaks, open and signed off", titles.breaks, ledger.breaks, breakRow),
  ].join("\n");
}

function rollforwardText({ rollforward }: LedgerMonth): string {
  if (rollforward.length === 0)
    return "  no figures: no bill by the end of the month, or nothing of it was read";
  return formatTable(
    ["", ...rollforward.map(({ coin }) => coin)],
    [
      ["opening", ...rollforward.map(({ opening }) => opening ?? "unknown")],
      ...movements.map(([name, title]) => [title, ...rollforward.map((coin) => coin[name])]),
      ["closing", ...rollforward.map(({ closing }) => closing ?? "unknown")],
      ["bills", ...rollforward.map(({ bills }) => formatCount(bills))],
    ],
  );
}

function section<Item>(
  title: string,
  columns: readonly string[],
  { total, shown }: Listed<Item>,
  row: (item: Item) => readonly string[],
): readonly string[] {
  if (total === 0) return ["", `  ${title}: none`];
  const more = total > shown.length ? `, the first ${shown.length} of them` : "";
  return ["", `  ${title}: ${formatCount(total)}${more}`, formatTable(columns, shown.map(row))];
}
