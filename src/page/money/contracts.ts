import { isDemoProductType } from "../../contract/product-types.ts";
import { formatCount, formatCounted } from "../../terminal/format.ts";
import { floatingBar, type Span } from "../charts/floating-bar.ts";
import { forPixels, movement } from "../format.ts";
import { type Html, html } from "../html.ts";
import { icon } from "../icons.ts";
import { card, type WalletContext, type WalletSection } from "../section.ts";
import { type PageSelection, queryOf, walletTitle } from "../selection.ts";
import { billsAddress, linked } from "./bill-links.ts";
import { contractParts, type PartName } from "./contract-parts.ts";
import { type CoinEarnings, type Earned, readEarnings, together } from "./earnings.ts";
import { offNote } from "./parts.ts";
import { areToCome } from "./span.ts";
import { isZero } from "./stretches.ts";
import { walletReadings } from "./unread-wallets.ts";

const about = { id: "contracts", title: "By contract" };

// Per coin. The largest gains and losses come first; nobody reads more than these.
const shownMax = 50;
const coinsMax = 50;

/**
 * What each contract earned, over all coins of the account. Demo trading is not money, so it never
 * shares a table with money.
 */
export const contracts: WalletSection = {
  ...about,
  async render(context) {
    const { selection } = context;
    const { account, product, coin, from, to } = selection;
    const isDemo = isDemoProductType(product);
    const nearness = (each: CoinEarnings) =>
      each.product === product ? (each.coin === coin ? 0 : 1) : 2;
    const coins = (await readEarnings(context))
      .filter((each) => isDemoProductType(each.product) === isDemo)
      .toSorted((a, b) => nearness(a) - nearness(b));
    return card(
      { ...about, about: `all coins of ${account}, ${from} to ${to}` },
      coins.length === 0
        ? html`<p class="note">${await nothingText(context)}</p>`
        : html`${tableOf(coins.slice(0, coinsMax), selection)}
${coins.length > coinsMax ? html`<p class="note">and ${formatCounted(coins.length - coinsMax, "coin")} more: choose one above.</p>` : ""}
<p class="note">Fees: less rebates, and with those in rows of their own. Other: liquidations, deliveries, bonuses, copy trading and interest. Each coin’s sum is its result, as <a href="#result">Result by day</a> has it; coins are never added up. Transfers, conversions, coins bought and sold, loans and unmapped types are no result: see <a href="#bridge">Opening to closing balance</a>.</p>
<p class="note">Counted bills: those that earn or cost something, and those whose fee a coupon paid. The rollforward counts all bills of these days, and the ledgers all that are stored.</p>
${coins.some(hasMovedOtherwise) ? html`<p class="note">Moved otherwise: by how much the balance moved more or less than these bills say, since a coupon paid a fee, or what they name is not taken from it.</p>` : ""}`,
    );
  },
};

/** Says why there is no result: days that were not read may have one. */
async function nothingText(context: WalletContext): Promise<string> {
  const { product, to } = context.selection;
  if (areToCome(context)) return "These days are still to come.";
  const reading = (await walletReadings(context)).get(product);
  if (reading === undefined || to < reading.since) {
    return "Nothing of these days was read, so what they earned is not known.";
  }
  return reading.unreadDays > 0
    ? `Nothing is stored that was earned or lost, but ${formatCounted(reading.unreadDays, "day")} of these were not all read.`
    : "Nothing was earned or lost in these days.";
}

const hasMovedOtherwise = ({ movedOtherwise }: CoinEarnings): boolean => !isZero(movedOtherwise);

const head = html`<thead><tr><th scope="col">Contract</th>${contractParts.map(({ title }) => html`<th scope="col" class="figure">${title}</th>`)}<th scope="col" class="figure">Counted bills</th><td></td></tr></thead>`;

const tableOf = (coins: readonly CoinEarnings[], selection: PageSelection): Html =>
  html`<div class="scroll" tabindex="0" role="region" aria-label="Results by contract"><table class="contracts compact">${head}${coins.map((each) => coinRows(each, selection))}</table></div>`;

/**
 * A coin's sum, and its contracts below it. Bars compare contracts of one coin: different coins are
 * never compared.
 */
function coinRows(earnings: CoinEarnings, selection: PageSelection): Html {
  const {
    product,
    coin,
    contracts: found,
    movedOtherwise,
    result,
    unreadDays,
    unmapped,
    off,
  } = earnings;
  const own = { ...selection, product, coin };
  const isShown = product === selection.product && coin === selection.coin;
  const name = html`<span class="account">${walletTitle(product)}</span> ${coin}`;
  const lack =
    unreadDays === 0
      ? ""
      : html` <span class="not-read">${icon("warn")} ${formatCounted(unreadDays, "day")} not all read</span>`;
  const title = isShown
    ? html`<b aria-current="true">${name}</b>`
    : html`<a href="/${queryOf(own)}#${about.id}">${name}</a>`;
  const sum = together(found);
  const whole = { ...sum, figures: { ...sum.figures, contract_result: result } };
  const shown = found.slice(0, shownMax);
  const rest = found.slice(shownMax);
  // A bar compares: one alone says nothing.
  const span = shown.length > 1 ? spanOf(shown) : undefined;
  return html`
<tbody>
<tr class="sum"><th scope="rowgroup">${title}${lack}${off.days === 0 ? "" : html`<br>${offNote(off, own)}`}${isZero(unmapped) ? "" : html`<br><span class="not-read">${icon("warn")} unmapped types: ${linked(movement(unmapped, own), billsAddress(own, { pieces: ["unmapped"] }))}</span>`}</th>${figures(
    whole,
    own,
    (part) =>
      // No bill contains what moved otherwise, so the sum is no link.
      part === "contract_result" && hasMovedOtherwise(earnings)
        ? undefined
        : billsAddress(own, { pieces: [part] }),
  )}<td></td></tr>
${shown.map((contract) => {
  const { symbol } = contract;
  const address = (part: PartName) => billsAddress(own, { symbol, pieces: [part] });
  return html`<tr><th scope="row" class="one">${symbol === "" ? "no contract named" : symbol}</th>${figures(contract, own, address)}${gauge(contract, span)}</tr>
`;
})}${rest.length === 0 ? "" : html`<tr><th scope="row" class="one">${formatCount(rest.length)} more</th>${figures(together(rest), own, () => undefined)}<td></td></tr>`}
${hasMovedOtherwise(earnings) ? html`<tr><th scope="row" class="one">moved otherwise</th><td></td><td></td><td></td><td></td><td class="figure main"><b>${movement(movedOtherwise, own)}</b></td><td></td><td></td></tr>` : ""}
</tbody>`;
}

const spanOf = (rows: readonly Earned[]): Span => {
  const results = rows.map(({ figures: { contract_result } }) => forPixels(contract_result));
  return { low: Math.min(0, ...results), high: Math.max(0, ...results) };
};

const gauge = ({ figures: { contract_result } }: Earned, span: Span | undefined): Html =>
  html`<td class="gauge" aria-hidden="true">${span && floatingBar(0, forPixels(contract_result), span)}</td>`;

/** @param addressOf the address of a part's bills; undefined makes the figure no link. */
function figures(
  { figures: own, bills }: Earned,
  selection: PageSelection,
  addressOf: (part: PartName) => string | undefined,
): readonly Html[] {
  const cells = contractParts.map(({ name, title }) => {
    const address = addressOf(name);
    const bare = movement(own[name], selection);
    const figure = address === undefined ? bare : linked(bare, address);
    return name === "contract_result"
      ? html`<td class="figure main"><b>${figure}</b></td>`
      : html`<td class="figure" data-name="${title}">${figure}</td>`;
  });
  const address = addressOf("contract_result");
  const count =
    address === undefined
      ? formatCount(bills)
      : html`<a class="to-bills" href="${address}">${formatCount(bills)}</a>`;
  return [...cells, html`<td class="figure" data-name="Counted bills">${count}</td>`];
}
