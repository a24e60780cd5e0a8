import { decimalOf, decimalText, subtract } from "../../export/decimal.ts";
import { allDigits, amount, percentage } from "../format.ts";
import { type Html, html } from "../html.ts";
import type { PageSelection } from "../selection.ts";
import type { LoanCoin, RiskUnit } from "./loan-days.ts";
import { isZero, sumOf } from "./stretches.ts";

const titles = [
  "Collateral, in the coin",
  "Price, USDT",
  "Haircut",
  "Counts for, USDT",
  "Debt, in the coin",
  "Interest, in the coin",
  "Owed, USDT",
] as const;

const none = html`<span class="zero">–</span>`;
const noPrice = html`<i class="unknown">no price served</i>`;

/**
 * The debts and assets of a risk unit's newest record by coin, down to the sums that the exchange
 * served. It serves the prices of collateral only, so coins that are only owed have no value of their
 * own: they have what is left of the sum.
 */
export function loanCoins({ coins, assets, debt }: RiskUnit, selection: PageSelection): Html {
  if (coins.length === 0) return html``;
  const { isExact } = selection;
  const dollars = { coin: "USDT", isExact };
  const counted = restOf(
    assets,
    coins.map(({ converted }) => converted),
  );
  const owed = restOf(
    debt,
    coins.map((coin) => coin.owed),
  );
  const unpriced = coins.filter(isUnpriced).map(({ coin }) => nameOf(coin));
  const row = (name: Html | string, figures: readonly Html[], kind = "") => html`
<tr class="${kind}"><th scope="row">${name}</th>${figures.map((figure, index) => html`<td class="figure" data-name="${titles[index]}">${figure}</td>`)}</tr>`;
  const sums = (ofAssets: Html, ofDebt: Html) => [none, none, none, ofAssets, none, none, ofDebt];
  const left = (decimal: string) => (isZero(decimal) ? none : amount(decimal, dollars));
  const rest =
    isZero(counted) && isZero(owed)
      ? ""
      : row(
          unpriced.length === 0 ? "Valued otherwise" : `Left for ${unpriced.join(", ")}`,
          sums(left(counted), left(owed)),
        );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Debts and collateral by coin"><table class="compact">
<thead><tr><th scope="col">Coin</th>${titles.map((title) => html`<th scope="col" class="figure">${title}</th>`)}</tr></thead>
<tbody>${coins.map((coin) => row(nameOf(coin.coin), figuresOf(coin, isExact)))}${rest}</tbody>
<tfoot>${row("As the exchange adds up", sums(amount(assets, dollars), amount(debt, dollars)))}</tfoot></table></div>`;
}

const nameOf = (coin: string): string => (coin === "" ? "none named" : coin);

const isUnpriced = ({ owed, debt }: LoanCoin): boolean =>
  owed === null && debt !== null && !isZero(debt);

/** What is left of the whole besides its known parts; nothing if the whole is unknown. */
const restOf = (whole: string | null, parts: readonly (string | null)[]): string =>
  whole === null
    ? "0"
    : decimalText(
        subtract(decimalOf(whole), decimalOf(sumOf(parts.filter((part) => part !== null)))),
      );

function figuresOf(entry: LoanCoin, isExact: boolean): readonly Html[] {
  const { coin, price, converted, haircut, debt, interest, owed } = entry;
  const own = (decimal: string | null, of = coin) =>
    decimal === null ? none : amount(decimal, { coin: of, isExact });
  return [
    own(entry.amount),
    price === null ? (isUnpriced(entry) ? noPrice : none) : html`${allDigits(price)}`,
    haircut === null ? none : percentage(haircut, isExact),
    own(converted, "USDT"),
    own(debt),
    own(interest),
    isUnpriced(entry) ? noPrice : own(owed, "USDT"),
  ];
}
