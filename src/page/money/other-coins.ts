import { isDemoProductType } from "../../contract/product-types.ts";
import { netMovement } from "../format.ts";
import { type Html, html, joined } from "../html.ts";
import { icon } from "../icons.ts";
import type { WalletContext } from "../section.ts";
import { type PageSelection, queryOf, walletTitle } from "../selection.ts";
import { billsAddress, linked } from "./bill-links.ts";
import { readResults } from "./earnings.ts";
import { resultGroup } from "./line-groups.ts";
import { isZero } from "./stretches.ts";
import { unreadIn, walletReadings } from "./unread-wallets.ts";

type CoinResult = Awaited<ReturnType<typeof readResults>>[number];

// By contract has the others. An account with more than these trades for nobody's eye.
const coinsMax = 30;

/**
 * The results of the account's other coins in the same days, a line for each wallet, so that one coin
 * does not stand for all. Empty if no other coin has a result.
 */
export async function othersOf(context: WalletContext): Promise<Html> {
  const { selection } = context;
  const isDemo = isDemoProductType(selection.product);
  const others = (await readResults(context))
    .filter(({ product }) => isDemoProductType(product) === isDemo)
    .filter(({ product, coin }) => product !== selection.product || coin !== selection.coin)
    .filter(({ result, days }) => !isZero(result) || days !== "0")
    .toSorted((a, b) => a.product.localeCompare(b.product) || a.coin.localeCompare(b.coin));
  if (others.length === 0) return html``;
  const readings = await walletReadings(context);
  const wallets = Map.groupBy(others.slice(0, coinsMax), ({ product }) => product);
  const lines = [...wallets].map(([product, coins]) => {
    const ofCoins = Math.max(...coins.map(({ unread }) => Number(unread)));
    const lack =
      unreadIn(context, readings, product, ofCoins) === 0
        ? ""
        : html` <span class="not-read">${icon("warn")} not all read</span>`;
    return html`<li><b>${walletTitle(product)}</b> ${joined(
      coins.map((each) => resultOf(each, selection)),
      ", ",
    )}${lack}</li>`;
  });
  return html`<div class="others"><p class="note">Results of the other coins in these days; coins are never added up:</p>
<ul>${lines}</ul>${others.length > coinsMax ? html`<p class="note">and more <a href="#contracts">by contract</a></p>` : ""}</div>`;
}

function resultOf({ product, coin, result, days }: CoinResult, selection: PageSelection): Html {
  const own = { ...selection, product, coin };
  const off =
    days === "0"
      ? ""
      : html` <span class="is-off">${icon("bad")}<span class="unseen">does not add up</span></span>`;
  return html`<span class="named"><a href="/${queryOf(own)}#filters">${coin}</a> ${linked(
    netMovement(result, own),
    billsAddress(own, { pieces: [resultGroup.name] }),
  )}${off}</span>`;
}
