import { Html, type HtmlPart, html, joined } from "../../output/html.ts";
import { asJson, asText } from "../../output/result.ts";
import { csvLines, unrounded } from "../export/csv.ts";
import type { CloseReport } from "./close-report.ts";
import { type Section, sectionsOf } from "./sections.ts";

// The report as text, HTML, JSON and CSV, of the same sections.

export function reportJson(report: CloseReport): object {
  const [head = {}, ...ledgers] = sectionsOf(report).map(asJson);
  return { ...head, ledgers };
}

/** The tables of JSON, each of which is a file of CSV, by their keys there. */
export const tableNames = [
  ...["rollforward", "summary", "coins", "contracts", "flows", "balanceChecks"],
  ...["coverage", "changes", "accepted", "breaks", "restatements", "rejected"],
] as const;

/** A table with the rows of all ledgers. */
export function reportCsv(report: CloseReport, name: string): string {
  const tables = sectionsOf(report).flatMap(({ parts }, place) =>
    parts.flatMap((part) => {
      if (typeof part !== "object" || part.name !== name) return [];
      const wallet = report.ledgers[place - 1]?.wallet;
      const names = wallet && { account: wallet.account, productType: wallet.productType };
      return {
        keys: [...Object.keys(names ?? {}), ...Object.keys(part.kinds)],
        names,
        json: part.json,
      };
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
  return text && (/^-\d[\d.]*$/.test(text) ? text : unrounded(text));
}

export const reportText = (report: CloseReport): string =>
  sectionsOf(report)
    .map(({ title, parts }) => `== ${title}\n${asText({ parts })}`)
    .join("\n\n");

// Measured: two columns on a lying page hold a close of three ledgers in 8 points on two pages. On a standing one
// it took three, since its tables are half as wide as the page or a little more.
const style = `
  @page { size: A4 landscape; margin: 8mm; }
  body { font: 9pt/1.3 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #111; }
  h2 { border-top: 2px solid #111; padding-top: .3rem; margin: 1.2rem 0 .3rem; font-size: 12pt; }
  p { margin: .2rem 0; overflow-wrap: anywhere; }
  table { border-collapse: collapse; margin: .3rem 1rem .3rem 0; display: inline-table; vertical-align: top; max-width: 100%; }
  th, td { border-bottom: 1px solid #ccc; padding: .1rem .4rem .1rem 0; text-align: left; vertical-align: top; }
  td { white-space: nowrap; } .long { white-space: normal; overflow-wrap: anywhere; }
  .figure { text-align: right; font-variant-numeric: tabular-nums; }
  th:first-child, td:first-child { text-align: left; }
  @media print {
    body { margin: 0; padding: 0; max-width: none; font: 8pt/1.05 "DejaVu Sans Condensed", Arial, sans-serif; orphans: 1; widows: 1; }
    main { columns: 2; column-gap: 5mm; } main table { display: table; }
    p { margin: 0; } table { margin: .1rem .6rem .2rem 0; } th, td { padding: 0 .3rem 0 0; }
    h2 { break-after: avoid; font-size: 9pt; margin: .2rem 0 .1rem; padding-top: .1rem; } tr { break-inside: avoid; }
  }
`;

/** The report as a single file, without scripts and without anything to load. */
export function reportHtml(report: CloseReport): string {
  const [head, ...ledgers] = sectionsOf(report).map(
    ({ title, parts }) => html`<h2>${title}</h2>\n${joined(parts.map(partHtml), "\n")}`,
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${report.period}: the close</title>
<style>${new Html(style)}</style>
</head>
<body>
${head}
<main>
${joined(ledgers, "\n")}
</main>
</body>
</html>`.text;
}

// A longer text than this may break, such as a note; a day, an id or a name may not.
const shortMax = 30;

function partHtml(part: Section["parts"][number]): HtmlPart {
  if (typeof part === "string") return html`<p>${part}</p>`;
  if (!part) return undefined;
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
