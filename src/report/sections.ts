import { isoTime } from "../contract/time.ts";
import { movements } from "../export/movements.ts";
import type { ReportedWallet } from "../export/reported-wallets.ts";
import { toldText } from "../health/balances.ts";
import { formatCount, formatInterval } from "../output/format.ts";
import { asText, type Columns, type Table, table } from "../output/result.ts";
import { streamName } from "../output/stream-names.ts";
import { Html, type HtmlPart, html, joined } from "../page/html.ts";
import { shellWord } from "../printable.ts";
import type { Interval } from "../sync/intervals.ts";
import { digestCommand } from "./digest.ts";
import type {
  LedgerMonth,
  Listed,
  MonthReport,
  Rejected,
  ReportedBreak,
  Restatement,
  Rollforward,
} from "./month-report.ts";

// The report as text and as HTML, of the same sections.

type Section = {
  readonly title: string;
  /** Sentences, tables, and lines to copy into a shell. */
  readonly parts: readonly (string | Table | { readonly code: readonly string[] })[];
};

function sectionsOf({ month, generatedAt, versions, ...report }: MonthReport): readonly Section[] {
  const { lacking, accepted, ledgers } = report;
  const { program, node, postgres, schema } = versions;
  const whole =
    accepted.length === 0
      ? "complete: all of the month was read, it adds up, and nothing is open"
      : `complete, with ${accepted.join(" and ")}`;
  return [
    {
      title: month,
      parts: [
        `UTC, as stored ${generatedAt}`,
        `bill-sync ${program}, Node ${node}, Postgres ${postgres}, ${schema}`,
        ...(lacking.length === 0 ? [whole] : ["NOT COMPLETE OR NOT SETTLED:", ...lacking]),
      ],
    },
    ...ledgers.map((ledger) => sectionOf(ledger, month)),
  ];
}

function sectionOf(ledger: LedgerMonth, month: string): Section {
  const { wallet, coverage, rollforward, digest, reconciledAt } = ledger;
  return {
    title: `${streamName(wallet)}${wallet.isDemo ? " (demo coins)" : ""}`,
    parts: [
      ...(wallet.closedAt === undefined
        ? []
        : [
            `closed ${isoTime(wallet.closedAt)}: the account changed its kind then; what was left ` +
              "in this wallet is not carried over to another wallet",
          ]),
      table("", coverageColumns, [
        ...coverage.complete.map((time) => ({ is: "read", time })),
        ...coverage.unread.map((time) => ({ is: "UNREAD", time })),
        ...coverage.lost.map((time) => ({ is: "LOST", time })),
        ...coverage.recovered.map((time) => ({ is: "recovered", time })),
      ]),
      `reconciled ${reconciledAt ?? "never"}`,
      rollforward.length === 0
        ? "no figures: no bill by the end of the month, or nothing of it was read"
        : rollforwardTable(rollforward),
      ...ledger.told.map(toldText),
      `${formatCount(digest.bills)} bills, SHA-256 ${digest.sha256}, which these commands compute, too:`,
      { code: [`${exportOf(wallet, month)} > bills.csv`, digestCommand("bills.csv")] },
      ...listedParts("rejected rows, not resolved", rejectedColumns, ledger.rejected),
      ...listedParts("restatements", restatementColumns, ledger.restatements),
      ...listedParts("breaks, open and accepted", breakColumns, ledger.breaks),
    ],
  };
}

const coverageColumns: Columns<{ readonly is: string; readonly time: Interval }> = {
  time: { kind: "text", of: ({ is }) => is },
  span: { kind: "text", title: "from and to", of: ({ time }) => formatInterval(time) },
};

/** A column a coin, a row a movement. */
function rollforwardTable(coins: readonly Rollforward[]): Table {
  type Line = { readonly title: string; readonly of: (coin: Rollforward) => string };
  const lines: readonly Line[] = [
    { title: "opening", of: ({ opening }) => opening ?? "unknown" },
    ...movements.map(([name, title]) => ({ title, of: (coin: Rollforward) => coin[name] })),
    { title: "closing", of: ({ closing }) => closing ?? "unknown" },
    { title: "bills", of: ({ bills }) => formatCount(bills) },
  ];
  const columns: Columns<Line> = {
    movement: { kind: "text", title: "rollforward", of: ({ title }) => title },
    ...Object.fromEntries(
      coins.map((coin) => [
        `coin ${coin.coin}`,
        { kind: "amount" as const, title: coin.coin, of: ({ of }: Line) => of(coin) },
      ]),
    ),
  };
  return table("", columns, lines);
}

function listedParts<Item>(
  title: string,
  columns: Columns<Item>,
  { total, shown }: Listed<Item>,
): readonly (string | Table)[] {
  const more = total > shown.length ? `, the first ${shown.length} of them` : "";
  return [
    `${title}: ${total === 0 ? "none" : `${formatCount(total)}${more}`}`,
    table("", columns, shown),
  ];
}

const rejectedColumns: Columns<Rejected> = {
  rejected: { kind: "text", of: ({ rejectedAt }) => rejectedAt },
  bill: { kind: "text", of: ({ billId }) => billId },
  where: { kind: "text", of: ({ faultPath }) => faultPath },
  fault: { kind: "text", of: ({ fault }) => fault },
  digest: { kind: "text", of: ({ digest }) => digest },
};

const restatementColumns: Columns<Restatement> = {
  replaced: { kind: "text", of: ({ replacedAt }) => replacedAt },
  bill: { kind: "text", of: ({ billId }) => billId },
  revision: { kind: "count", of: ({ revision }) => revision },
  changes: {
    kind: "text",
    title: "what changed",
    of: ({ changes }) =>
      changes
        .map((change) => `${change.field}: ${change.old ?? "none"} → ${change.new ?? "none"}`)
        .join("; "),
  },
};

const breakColumns: Columns<ReportedBreak> = {
  number: { kind: "text", of: ({ breakId }) => `#${breakId}` },
  state: { kind: "text", of: ({ state }) => (state === "accepted" ? "accepted" : "OPEN") },
  kind: { kind: "text", of: ({ kind }) => kind },
  coin: { kind: "text", of: ({ coin }) => coin || null },
  happened: { kind: "text", of: ({ happenedAt }) => happenedAt },
  offBy: { kind: "amount", of: ({ difference }) => difference },
  explanation: { kind: "text", of: ({ explanation }) => explanation },
  note: {
    kind: "text",
    of: ({ state, note, acceptedBy, acceptedAt }) =>
      state === "accepted"
        ? `${note ?? ""} (${[acceptedBy, acceptedAt].filter(Boolean).join(", ")})`.trim()
        : null,
  },
};

/** The command that exports the bills of the digest, for a POSIX shell. */
export const exportOf = ({ account, productTypes }: ReportedWallet, month: string): string =>
  [
    `npm run --silent export -- --format csv --account ${shellWord(account)}`,
    ...productTypes.map((productType) => `--product ${shellWord(productType)}`),
    `--month ${month}`,
  ].join(" ");

export const reportText = (report: MonthReport): string =>
  sectionsOf(report)
    .map(({ title, parts }) => {
      const shown = parts.flatMap((part) =>
        typeof part === "object" && "code" in part ? part.code.map((line) => `  ${line}`) : [part],
      );
      return `== ${title}\n${asText({ parts: shown })}`;
    })
    .join("\n\n");

const style = `
  body { font: 10pt/1.4 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #111; }
  h2 { border-top: 2px solid #111; padding-top: .6rem; margin-top: 2rem; }
  table { border-collapse: collapse; margin: .5rem 0; width: 100%; }
  th, td { border-bottom: 1px solid #bbb; padding: .2rem .5rem; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
  .figure { text-align: right; font-variant-numeric: tabular-nums; }
  pre { background: #f3f3f3; padding: .5rem; white-space: pre-wrap; overflow-wrap: anywhere; }
  @media print { body { margin: 0; max-width: none; } h2 { break-after: avoid; } tr { break-inside: avoid; } pre { border: 1px solid #bbb; } }
`;

/** The report as a single file, without scripts and without anything to load. */
export const reportHtml = (report: MonthReport): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${report.month}: the ledger's month</title>
<style>${new Html(style)}</style>
</head>
<body>
${joined(
  sectionsOf(report).map(
    ({ title, parts }) => html`<h2>${title}</h2>\n${joined(parts.map(partHtml), "\n")}`,
  ),
  "\n",
)}
</body>
</html>`.text;

function partHtml(part: Section["parts"][number]): HtmlPart {
  if (typeof part === "string") return html`<p>${part}</p>`;
  if ("code" in part) return html`<pre>${part.code.join("\n")}</pre>`;
  const { titles, cells, isRight } = part;
  if (cells.length === 0) return undefined;
  const row = (values: readonly string[], tag: "th" | "td"): Html => {
    const [open, close] = [new Html(`<${tag}`), new Html(`</${tag}>`)];
    const shown = values.map((value, place) =>
      isRight[place] === true
        ? html`${open} class="figure">${value}${close}`
        : html`${open}>${value}${close}`,
    );
    return html`<tr>${shown}</tr>`;
  };
  return html`<table><thead>${row(titles, "th")}</thead>
<tbody>${joined(
    cells.map((values) => row(values, "td")),
    "\n",
  )}</tbody></table>`;
}
