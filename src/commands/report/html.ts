import { movements } from "../../export/movements.ts";
import { formatCount, formatInterval } from "../../output/format.ts";
import { streamName } from "../../output/stream-names.ts";
import { escaped } from "../../page/html.ts";
import { digestCommand } from "./digest.ts";
import type { LedgerMonth, Listed, MonthReport } from "./month-report.ts";
import { breakRow, closedText, exportOf, rejectedRow, restatementRow, titles } from "./rows.ts";

const style = `
  body { font: 10pt/1.4 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #111; }
  h1 { font-size: 1.6rem; } h2 { border-top: 2px solid #111; padding-top: .6rem; margin-top: 2rem; }
  table { border-collapse: collapse; margin: .5rem 0; width: 100%; }
  th, td { border-bottom: 1px solid #bbb; padding: .2rem .5rem; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
  .figures td { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
  .figures tr:first-child td, .figures tr.closing td, .figures tr.closing th { font-weight: bold; }
  .lacking { border: 2px solid #a00; padding: .2rem 1rem; } .whole { border: 2px solid #070; padding: .2rem 1rem; }
  pre { background: #f3f3f3; padding: .5rem; white-space: pre-wrap; overflow-wrap: anywhere; }
  @media print { body { margin: 0; max-width: none; } h2 { break-after: avoid; } tr { break-inside: avoid; } pre { border: 1px solid #bbb; } }
`;

/** The report as a single file, without scripts and without anything to load. */
export function reportHtml(report: MonthReport): string {
  const { month, generatedAt, versions, lacking, accepted, ledgers } = report;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(month)}: the ledger's month</title>
<style>${style}</style>
</head>
<body>
<h1>${escaped(month)}</h1>
<p>Of UTC, as stored ${escaped(generatedAt)}. bill-sync ${escaped(versions.program)}, Node ${escaped(versions.node)},
Postgres ${escaped(versions.postgres)}, ${escaped(versions.schema)}.</p>
${lackingHtml(lacking, accepted)}
${ledgers.map((ledger) => ledgerHtml(ledger, month)).join("\n")}
</body>
</html>
`;
}

const lackingHtml = (lacking: readonly string[], accepted: readonly string[]): string =>
  lacking.length === 0
    ? `<p class="whole">${accepted.length === 0 ? "<strong>Complete:</strong> all of the month was read, it adds up, and nothing is open." : `<strong>Complete</strong>, with ${escaped(accepted.join(" and "))}.`}</p>`
    : `<div class="lacking"><p><strong>Not complete or not settled:</strong></p>
<ul>${lacking.map((line) => `<li>${escaped(line)}</li>`).join("\n")}</ul></div>`;

function ledgerHtml(ledger: LedgerMonth, month: string): string {
  const { wallet, coverage, digest, reconciledAt } = ledger;
  const demo = wallet.isDemo ? " (demo coins)" : "";
  const spans = [
    ...coverage.complete.map((span) => ["read", formatInterval(span)]),
    ...coverage.missing.map((span) => ["missing", formatInterval(span)]),
    ...coverage.lost.map((span) => ["lost", formatInterval(span)]),
  ];
  return `<h2>${escaped(streamName(wallet))}${demo}</h2>
${wallet.closedAt === undefined ? "" : `<p>${escaped(closedText(wallet))}.</p>\n`}<h3>Coverage</h3>
${table(["time", "from and to"], spans)}
<p>Reconciled ${escaped(reconciledAt ?? "never")}.</p>
<h3>Rollforward</h3>
${rollforwardHtml(ledger)}
<h3>Digest</h3>
<p>${formatCount(digest.bills)} bills, SHA-256 <code>${digest.sha256}</code>, as anybody computes it with bash:</p>
<pre>${escaped(`${exportOf(wallet, month)} > bills.csv\n${digestCommand("bills.csv")}`)}</pre>
${section("Rejected rows, not resolved", titles.rejected, ledger.rejected, rejectedRow)}
${section("Restatements", titles.restatements, ledger.restatements, restatementRow)}
${section("Breaks, open and signed off", titles.breaks, ledger.breaks, breakRow)}`;
}

function rollforwardHtml({ rollforward }: LedgerMonth): string {
  if (rollforward.length === 0)
    return "<p>No figures: no bill by the end of the month, or nothing of it was read.</p>";
  const line = (title: string, cells: readonly string[], name = "") =>
    `<tr${name}><th>${escaped(title)}</th>${cells.map((cell) => `<td>${escaped(cell)}</td>`).join("")}</tr>`;
  const of = (pick: (coin: (typeof rollforward)[number]) => string) => rollforward.map(pick);
  return `<table class="figures">
<thead>${line(
    "",
    of(({ coin }) => coin),
  )}</thead>
<tbody>
${[
  line(
    "opening",
    of(({ opening }) => opening ?? "unknown"),
  ),
  ...movements.map(([name, title]) =>
    line(
      title,
      of((coin) => coin[name]),
    ),
  ),
  line(
    "closing",
    of(({ closing }) => closing ?? "unknown"),
    ' class="closing"',
  ),
  line(
    "bills",
    of(({ bills }) => formatCount(bills)),
  ),
].join("\n")}
</tbody></table>`;
}

function section<Item>(
  title: string,
  columns: readonly string[],
  { total, shown }: Listed<Item>,
  row: (item: Item) => readonly string[],
): string {
  if (total === 0) return `<h3>${title}</h3>\n<p>None.</p>`;
  const more =
    total > shown.length ? `<p>The first ${shown.length} of ${formatCount(total)}.</p>\n` : "";
  return `<h3>${title}</h3>\n${more}${table(columns, shown.map(row))}`;
}

const table = (columns: readonly string[], rows: readonly (readonly string[])[]): string =>
  `<table><thead><tr>${columns.map((name) => `<th>${escaped(name)}</th>`).join("")}</tr></thead>
<tbody>${rows.map((row) => `<tr>${row.map((cell) => `<td>${escaped(cell)}</td>`).join("")}</tr>`).join("\n")}</tbody></table>`;
