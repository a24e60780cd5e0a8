import { isDemoProductType } from "../../contract/product-types.ts";
import { formatCount } from "../../terminal/format.ts";
import { floatingBar, type Span } from "../charts/floating-bar.ts";
import { forPixels, movement } from "../format.ts";
import { type Html, html } from "../html.ts";
import { card, type WalletSection } from "../section.ts";
import { type PageSelection, queryOf } from "../selection.ts";
import { billsAddress, linked } from "./bill-links.ts";
import { contractParts, type PartName } from "./contract-parts.ts";
import { type Earned, figureOf, readEarnings, together } from "./earnings.ts";

const about = { id: "contracts", title: "By contract" };
const aboutCoins = { id: "coins", title: "All coins" };

// The largest gains and losses are first; more than so many nobody reads.
const shownMax = 50;

const left = html`<p class="note">Liquidations and deliveries are in the result, and not here.</p>`;

/** Profit, fees and funding by contract. */
export const contracts: WalletSection = {
  ...about,
  async render(context) {
    const { selection } = context;
    const { contracts: found } = await readEarnings(context);
    return card(
      { ...about, about: `${daysText(selection)}, ${selection.coin}` },
      found.length === 0
        ? html`<p class="note">No profit, fee or funding in these days.</p>`
        : html`${contractTable(found, selection)}${left}`,
    );
  },
};

/** The same of all coins of the account. Demo trading is not money: the two do not stand in one table. */
export const coins: WalletSection = {
  ...aboutCoins,
  isThere: ({ wallets, selection }) => wallets.filter(isAlike(selection)).length > 1,
  async render(context) {
    const { selection } = context;
    const { coins: found } = await readEarnings(context);
    return card(
      { ...aboutCoins, about: `${selection.account}, ${daysText(selection)}` },
      coinTable(found.filter(isAlike(selection)), selection),
    );
  },
};

const isAlike =
  (selection: PageSelection) =>
  ({ product }: { readonly product: string }): boolean =>
    isDemoProductType(product) === isDemoProductType(selection.product);

const daysText = ({ from, to }: PageSelection): string => `${from} to ${to}`;

const names: readonly PartName[] = contractParts.map(({ name }) => name);

const spanOf = (rows: readonly Earned[]): Span => {
  const nets = rows.map(({ net }) => forPixels(net));
  return { low: Math.min(0, ...nets), high: Math.max(0, ...nets) };
};

const table = (
  label: string,
  first: string,
  rows: readonly Html[],
  foot?: Html,
): Html => html`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table class="contracts">
<thead><tr><th scope="col">${first}</th>${["Profit", "Fees", "Funding", "Net", "Bills"].map((title) => html`<th scope="col" class="figure">${title}</th>`)}${foot === undefined ? "" : html`<td></td>`}</tr></thead>
<tbody>${rows}</tbody>${
  foot === undefined
    ? ""
    : html`
<tfoot>${foot}</tfoot>`
}</table></div>`;

function contractTable(found: readonly Earned[], selection: PageSelection): Html {
  const shown = found.slice(0, shownMax);
  const span = spanOf(found);
  const rows = shown.map((contract) => {
    const { symbol } = contract;
    const title = html`<th scope="row">${symbol === "" ? "none named" : symbol}</th>`;
    const address = (name: PartName) => billsAddress(selection, { symbol, pieces: [name] });
    return html`
<tr>${title}${figures(contract, selection, address)}${gauge(contract, span)}</tr>`;
  });
  const total = together(found);
  const address = (name: PartName) => billsAddress(selection, { pieces: [name] });
  return html`${table("Profit, fees and funding by contract", "Contract", rows, html`<tr><th scope="row">Total</th>${figures(total, selection, address)}<td></td></tr>`)}
${shown.length < found.length ? html`<p class="note">The ${shown.length} largest of ${found.length}; the total is of all.</p>` : ""}`;
}

/** Bars are of one coin alone: coins are never held against each other. */
function coinTable(coins: readonly Earned[], selection: PageSelection): Html {
  const rows = coins.map((earned) => {
    const { product, coin } = earned;
    const own = { ...selection, product, coin };
    const isShown = product === selection.product && coin === selection.coin;
    const name = html`<span class="account">${product}</span> ${coin}`;
    const address = (part: PartName) => billsAddress(own, { pieces: [part] });
    return html`
<tr><th scope="row">${isShown ? html`<b aria-current="true">${name}</b>` : html`<a href="/${queryOf(own)}#${aboutCoins.id}">${name}</a>`}</th>${figures(earned, own, address)}</tr>`;
  });
  return table("Profit, fees and funding by coin", "Coin", rows);
}

const gauge = ({ net }: Earned, span: Span): Html =>
  html`<td class="gauge" aria-hidden="true">${floatingBar(0, forPixels(net), span)}</td>`;

function figures(
  earned: Earned,
  selection: PageSelection,
  address: (name: PartName) => string,
): readonly Html[] {
  const cell = (name: PartName) => {
    const figure = linked(movement(figureOf(earned, name), selection), address(name));
    return html`<td class="figure">${name === "contract_net" ? html`<b>${figure}</b>` : figure}</td>`;
  };
  const count = html`<a class="to-bills" href="${address("contract_net")}">${formatCount(earned.bills)}</a>`;
  return [...names.map(cell), html`<td class="figure">${count}</td>`];
}
