import { readLoans } from "../../../check/health/ledgers.ts";
import type { Transaction } from "../../../core/postgres/connect.ts";
import { isoTime } from "../../../lib/time.ts";
import { amount, none, percentage, timeTag } from "../../../output/format.ts";
import { type Html, html } from "../../../output/html.ts";
import { block, frame, pageFoot, pageHead } from "./layout.ts";
import { ledgersSection } from "./ledgers.ts";
import { type OverviewDeps, readOverview } from "./overview.ts";
import { type Asked, queryOf } from "./selection.ts";
import { statement } from "./statement.ts";
import { titleOf, todoSection, verdictSection } from "./verdict.ts";
import { readPageQuery } from "./wallets.ts";

/**
 * Writes each part of the page as soon as it is known, beginning with whether the ledgers can be trusted.
 * All parts show the same moment.
 */
export async function writePage(
  tx: Transaction,
  { query, ...deps }: OverviewDeps & { readonly query: Asked },
  write: (part: Html) => void,
): Promise<void> {
  const overview = await readOverview(tx, deps, query.get("find")?.trim() ?? "");
  const { now, isSyncAtWork } = overview;
  const selected = await readPageQuery(tx, query, now);
  write(
    pageHead(titleOf(overview), "Overview", {
      query: selected === undefined ? "" : queryOf(selected.selection),
      isSyncAtWork,
    }),
  );
  write(html`${verdictSection(overview)}${todoSection(overview)}${ledgersSection(overview)}`);
  if (overview.stored > 0) {
    if (selected !== undefined) write(await statement(tx, selected, isoTime(now).slice(0, 10)));
    write(await loansSection(tx));
  }
  write(
    pageFoot(
      html`Days are UTC. Coins are never added up. Figures are rounded for reading. As of ${timeTag(now)}.`,
    ),
  );
}

/** The newest loan-to-value record of each risk unit; empty where there are no loans. */
async function loansSection(tx: Transaction): Promise<Html> {
  const loans = await readLoans(tx, undefined, loansMax);
  if (loans.length === 0) return html``;
  const usd = { coin: "USDT", isExact: false };
  const figure = (decimal: string | null) =>
    html`<td class="n">${decimal === null ? none : amount(decimal, usd)}</td>`;
  return block(
    { id: "loans", title: "Loans", beside: html`<small>newest records, in USDT</small>` },
    frame(
      "List of loans",
      html`<table><thead><tr><th scope="col">Account</th><th scope="col">Risk unit</th><th scope="col" class="n">Loan to value</th><th scope="col" class="n">Owed</th><th scope="col" class="n">Collateral</th><th scope="col">As of</th></tr></thead>
<tbody>${loans.map(
        ({ account, riskUnitId, ltv, owed, collateral, lastSeenAt }) =>
          html`<tr><th scope="row">${account}</th><td>${riskUnitId || "its own"}</td><td class="n">${ltv === null ? none : html`<data value="${ltv}">${percentage(ltv)}</data>`}</td>${figure(owed)}${figure(collateral)}<td>${timeTag(lastSeenAt)}</td></tr>`,
      )}</tbody></table>`,
    ),
  );
}

const loansMax = 20;
