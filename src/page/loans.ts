import { sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";
import { amount, none, percentage, timeTag } from "./format.ts";
import { type Html, html } from "./html.ts";
import { block, frame } from "./layout.ts";

type Row = {
  readonly account: string;
  readonly unit: string;
  readonly ltv: string | null;
  readonly owed: string | null;
  readonly balance: string | null;
  readonly heldUntil: string;
};

/** The newest loan-to-value record of each risk unit; empty where there are no loans. */
export async function loansSection(tx: Transaction): Promise<Html> {
  const { rows } = await tx.execute<Row>(sql`
    select distinct on (account, risk_unit_id)
      account,
      risk_unit_id as unit,
      ltv::text,
      unpaid_usdt_amount::text as owed,
      usdt_balance::text as balance,
      ${msOf(sql`held_until`)} as "heldUntil"
    from ltv_snapshots
    order by account, risk_unit_id, taken_at desc
    limit ${listedMax}`);
  if (rows.length === 0) return html``;
  const usd = { coin: "USDT", isExact: false };
  const figure = (decimal: string | null) =>
    html`<td class="n">${decimal === null ? none : amount(decimal, usd)}</td>`;
  return block(
    { id: "loans", title: "Loans", beside: html`<small>newest records, in USDT</small>` },
    frame(
      "List of loans",
      html`<table><thead><tr><th scope="col">Account</th><th scope="col">Risk unit</th><th scope="col" class="n">Loan to value</th><th scope="col" class="n">Owed</th><th scope="col" class="n">Collateral</th><th scope="col">As of</th></tr></thead>
<tbody>${rows.map(
        ({ account, unit, ltv, owed, balance, heldUntil }) =>
          html`<tr><th scope="row">${account}</th><td>${unit === "" ? "its own" : unit}</td><td class="n">${ltv === null ? none : html`<data value="${ltv}">${percentage(ltv)}</data>`}</td>${figure(owed)}${figure(balance)}<td>${timeTag(timeFrom(heldUntil))}</td></tr>`,
      )}</tbody></table>`,
    ),
  );
}

const listedMax = 20;
