import { sql } from "drizzle-orm";
import { formatCounted } from "../../terminal/format.ts";
import { floatingBar } from "../charts/floating-bar.ts";
import { forPixels, movement } from "../format.ts";
import { type Html, html } from "../html.ts";
import { card, type WalletContext, type WalletSection } from "../section.ts";
import type { PageSelection } from "../selection.ts";
import { billsAddress, linked } from "./bill-links.ts";
import type { LineName } from "./lines.ts";
import { sumOf } from "./stretches.ts";

const about = { id: "contracts", title: "By contract" };

/** What a contract earned and cost in the selected days: decimals as text. */
export type Contract = {
  /** Empty for bills that name none. */
  readonly symbol: string;
  readonly profit: string;
  readonly fees: string;
  readonly funding: string;
  readonly net: string;
  /** How many bills have some of it. One that closes a position has a profit and a fee. */
  readonly bills: Readonly<Record<"profit" | "fees" | "funding", number>>;
};

// The largest gains and losses are first; more than so many nobody reads.
const shownMax = 50;

/** Profit, fees and funding by contract. */
export const contracts: WalletSection = {
  ...about,
  async render(context) {
    const { selection } = context;
    const found = await readContracts(context);
    const shownAbout = { ...about, about: selection.coin };
    if (found.length === 0) {
      return card(shownAbout, html`<p class="note">No profit, fee or funding in these days.</p>`);
    }
    return card(shownAbout, tableOf(found, selection));
  },
};

/** The largest net amount first, whatever its sign. */
export async function readContracts({
  tx,
  selection,
}: WalletContext): Promise<readonly Contract[]> {
  const { account, product, coin, from, to } = selection;
  const { rows } = await tx.execute<Omit<Contract, "bills"> & Record<string, string>>(sql`
    select
      symbol,
      sum(profit + loss)::text as profit,
      sum(fees + rebates)::text as fees,
      sum(funding_received + funding_paid)::text as funding,
      sum(profit + loss + fees + rebates + funding_received + funding_paid)::text as net,
      sum(profit_bills) as "profitBills",
      sum(fee_bills) as "feeBills",
      sum(funding_bills) as "fundingBills"
    from current_symbol_days
    where account = ${account}
      and wallet = ${product}
      and coin = ${coin}
      and day between ${from}::date and ${to}::date
    group by symbol
    order by abs(sum(profit + loss + fees + rebates + funding_received + funding_paid)) desc, symbol`);
  return rows.map(({ profitBills, feeBills, fundingBills, ...contract }) => ({
    ...contract,
    bills: { profit: Number(profitBills), fees: Number(feeBills), funding: Number(fundingBills) },
  }));
}

type Part = "profit" | "fees" | "funding";
const parts: readonly Part[] = ["profit", "fees", "funding"];
const linesOf: Readonly<Record<Part, readonly LineName[]>> = {
  profit: ["realised_pnl"],
  fees: ["trading_fees", "fee_rebates"],
  funding: ["funding_received", "funding_paid"],
};
const titles = ["Contract", "Profit", "Fees", "Funding", "Net"];

function tableOf(found: readonly Contract[], selection: PageSelection): Html {
  const shown = found.slice(0, shownMax);
  const nets = found.map(({ net }) => forPixels(net));
  const span = { low: Math.min(0, ...nets), high: Math.max(0, ...nets) };
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Profit, fees and funding by contract"><table class="contracts">
<thead><tr>${titles.map((title, index) => html`<th scope="col" class="${index === 0 ? "" : "figure"}">${title}</th>`)}<td></td></tr></thead>
<tbody>${shown.map((contract) => rowOf(contract, selection, floatingBar(0, forPixels(contract.net), span)))}</tbody>
<tfoot>${totalOf(found, selection)}</tfoot></table></div>
<p class="note">${shown.length < found.length ? `The ${shown.length} largest of ${found.length}; the total is of all. ` : ""}Below each figure is how many bills have some of it. Without liquidations and deliveries.</p>`;
}

const counted = (bills: number): Html | undefined =>
  bills === 0 ? undefined : html`<small class="count">${formatCounted(bills, "bill")}</small>`;

function rowOf(contract: Contract, selection: PageSelection, bar: Html): Html {
  const { symbol, net } = contract;
  const address = (part?: Part) =>
    billsAddress(selection, { symbol, lines: part === undefined ? [] : linesOf[part] });
  const figure = (part: Part) =>
    html`<td class="figure">${linked(movement(contract[part], selection), address(part))}${counted(contract.bills[part])}</td>`;
  return html`
<tr><th scope="row">${symbol === "" ? "none named" : symbol}</th>${parts.map(figure)}<td class="figure"><b>${linked(movement(net, selection), address())}</b></td><td class="gauge" aria-hidden="true">${bar}</td></tr>`;
}

function totalOf(found: readonly Contract[], selection: PageSelection): Html {
  const total = (part: Part | "net") =>
    movement(sumOf(found.map((contract) => contract[part])), selection);
  const bills = (part: Part) => found.reduce((sum, contract) => sum + contract.bills[part], 0);
  return html`<tr><th scope="row">Total</th>${parts.map((part) => html`<td class="figure">${total(part)}${counted(bills(part))}</td>`)}<td class="figure">${total("net")}</td><td></td></tr>`;
}
