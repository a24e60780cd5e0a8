import { csvLines, harmless } from "../export/csv.ts";
import { asJson, asText, type Table } from "../output/result.ts";
import { Html, type HtmlPart, html, joined } from "../page/html.ts";
import type { MonthReport } from "./month-report.ts";
import { sectionsOf } from "./sections.ts";
import type { Section } from "./summary.ts";

// The report as text, HTML, JSON and CSV, of the same sections.

const isForAll = (part: Section["parts"][number]): part is string | Table =>
  typeof part === "string" || !("code" in part);

export function reportJson(report: MonthReport): object {
  const [head = {}, ...ledgers] = sectionsOf(report).map(({ data, parts }) =>
    asJson({ data, parts: parts.filter(isForAll) }),
  );
  return { ...head, ledgers };
}

/** The tables of JSON, each of which is a file of CSV. */
export const tableNames = [
  ...["rollforward", "summary", "coins", "contracts", "transfers", "liquidations"],
  ...["costBasis", "lots", "confirmed", "coverage", "changes", "accepted"],
  ...["breaks", "restatements", "rejected"],
] as const;

/** A table with the rows of all ledgers. */
export function reportCsv(report: MonthReport, name: string): string {
  const tables = sectionsOf(report).flatMap(({ parts }, place) =>
    parts.filter(isForAll).flatMap((part) => {
      if (typeof part === "string" || part.name !== name) return [];
      const wallet = report.ledgers[place - 1]?.wallet;
      const names = wallet && { account: wallet.account, productType: wallet.productType };
      return { keys: [...Object.keys(names ?? {}), ...part.keys], names, json: part.json };
    }),
  );
  const keys = [...new Set(tables.flatMap((one) => one.keys))];
  const rows = tables.flatMap(({ names, json }) =>
    json.map((row) => {
      const cells = new Map<string, unknown>(Object.entries({ ...names, ...row }));
      return keys.map((key) => cellOf(cells.get(key)));
    }),
  );
  // As printed: a terminal's lines end without a carriage return.
  return csvLines([keys, ...rows])
    .replaceAll("\r\n", "\n")
    .trimEnd();
}

function cellOf(value: unknown): string | null {
  const text = typeof value === "object" ? value && JSON.stringify(value) : String(value);
  // A spreadsheet rounds an id of so many digits.
  if (text !== null && /^\d{16,}$/.test(text)) return `'${text}`;
  return text && (/^-?\d[\d.]*$/.test(text) ? text : harmless(text));
}

export const reportText = (report: MonthReport): string =>
  sectionsOf(report)
    .map(({ title, parts }) => {
      const shown = parts.flatMap((part) =>
        isForAll(part) ? [part] : part.code.map((line) => `  ${line}`),
      );
      return `== ${title}\n${asText({ parts: shown })}`;
    })
    .join("\n\n");

const style = `
  @page { size: A4; margin: 10mm; }
  body { font: 9pt/1.3 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #111; }
  h2 { border-top: 2px solid #111; padding-top: .3rem; margin: 1.2rem 0 .3rem; font-size: 12pt; }
  p { margin: .2rem 0; }
  table { border-collapse: collapse; margin: .3rem 1rem .3rem 0; display: inline-table; vertical-align: top; max-width: 100%; }
  th, td { border-bottom: 1px solid #ccc; padding: .1rem .4rem .1rem 0; text-align: left; vertical-align: top; }
  td { white-space: nowrap; } .long { white-space: normal; overflow-wrap: anywhere; }
  .figure { text-align: right; font-variant-numeric: tabular-nums; }
  th:first-child, td:first-child { text-align: left; }
  pre { background: #f3f3f3; padding: .2rem; margin: .2rem 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 7pt; }
  @media print {
    body { margin: 0; padding: 0; max-width: none; font-size: 6.5pt; line-height: 1.1; orphans: 1; widows: 1; }
    p { margin: .1rem 0; } table { margin: .2rem .6rem .2rem 0; } th, td { padding: .05rem .3rem .05rem 0; }
    h2 { break-after: avoid; font-size: 8.5pt; margin: .4rem 0 .2rem; } tr { break-inside: avoid; }
    pre { border: 1px solid #ccc; font-size: 5pt; padding: .1rem; margin: .1rem 0; }
  }
`;

/** The report as a single file, without scripts and without anything to load. */
export const reportHtml = (report: MonthReport): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${report.period}: the close</title>
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

// A longer text than this may break, such as a note; a day, an id or a name may not.
const shortMax = 30;

function partHtml(part: Section["parts"][number]): HtmlPart {
  if (typeof part === "string") return html`<p>${part}</p>`;
  if ("code" in part) return html`<pre>${part.code.join("\n")}</pre>`;
  const { titles, cells, isRight } = part;
  if (cells.length === 0) return undefined;
  const row = (values: readonly string[], tag: "th" | "td"): Html => {
    const [open, close] = [new Html(`<${tag}`), new Html(`</${tag}>`)];
    const shown = values.map((value, place) => {
      const name = isRight[place] === true ? "figure" : value.length > shortMax ? "long" : "";
      return html`${open} class="${name}">${value}${close}`;
    });
    return html`<tr>${shown}</tr>`;
  };
  return html`<table><thead>${row(titles, "th")}</thead>
<tbody>${joined(
    cells.map((values) => row(values, "td")),
    "\n",
  )}</tbody></table>`;
}
