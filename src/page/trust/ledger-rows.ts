import { unifiedWallet } from "../../contract/product-types.ts";
import { historyMs, isoTime } from "../../contract/time.ts";
import { shellWord } from "../../printable.ts";
import type { StreamStatus } from "../../reports/status.ts";
import type { Interval } from "../../sync/intervals.ts";
import { becameText } from "../../terminal/account-remarks.ts";
import { formatCount } from "../../terminal/format.ts";
import { lengthText, timeTag } from "../format.ts";
import { type Html, type HtmlPart, html, joined } from "../html.ts";
import { chip } from "../icons.ts";
import { type PageSelection, queryOf, walletTitle } from "../selection.ts";
import { type Facts, lostOf, missingOf, type NeverRead, walletNameOf } from "./facts.ts";
import type { LedgerState } from "./ledger-state.ts";
import { emptyStrip, type Scale, strip } from "./strip.ts";

/** What all rows share. */
export type RowContext = {
  readonly facts: Facts;
  readonly scale: Scale;
  readonly selection: PageSelection | undefined;
  /** The coins of an account's wallet. */
  readonly coinsOf: (account: string, wallet: string) => readonly string[];
};

export const ledgerTable = (rows: readonly Html[], scale: Scale): Html => html`
<table class="ledgers stacked">
<thead><tr><th scope="col">Ledger</th><th scope="col">Coins</th><th scope="col" class="figure">Bills</th><th scope="col">Complete through</th>
<th scope="col" class="time">${axis(scale)}</th><th scope="col">State</th></tr></thead>
<tbody>${rows}</tbody>
</table>`;

/** The labels of the strips' ends. */
const axis = (scale: Scale): Html => html`<span class="${axisName(scale)}">${ends(scale)}</span>`;

const axisName = ({ start, horizon }: Scale): string => (start < horizon ? "axis older" : "axis");

function ends({ start, horizon }: Scale): Html {
  const day = (time: typeof start) => isoTime(time).slice(0, 10);
  const older = start < horizon ? html`<span>${day(start)}</span>` : "";
  return html`${older}<span>${day(horizon)}, 90 days ago</span><span>now</span>`;
}

export function ledgerRow(
  stream: StreamStatus,
  { tone, text, breaks }: LedgerState,
  context: RowContext,
): Html {
  const { account, productType } = stream.stream;
  const { facts, scale } = context;
  const wallet = walletNameOf(stream);
  const isShared = wallet === unifiedWallet;
  const classes = [isShared ? "part" : "", tone === "good" ? "well" : ""].join(" ").trim();
  return html`<tr class="${classes}">
<th scope="row"><span class="account">${account}</span> <span class="product">${productType}</span></th>
<td class="coins" data-name="Coins">${isShared ? "" : coinLinks(account, wallet, context)}</td>
<td class="figure" data-name="Bills">${formatCount(stream.bills)}</td>
<td data-name="Complete through">${stream.completeThrough === undefined ? "not yet" : timeTag(stream.completeThrough)}</td>
<td class="time">${strip(stream, scale, breaks)}<span class="${axisName(scale)} narrow" aria-hidden="true">${ends(scale)}</span>${holes(stream, facts)}</td>
<td data-name="State">${chip(tone, text)}</td></tr>`;
}

/** A row above the product types of a unified account, with the coins whose balances they share. */
export const walletRow = (account: string, context: RowContext): Html => html`<tr class="wallet">
<th scope="row"><span class="account">${account}</span> <span class="product">${walletTitle(unifiedWallet)}</span></th>
<td class="coins" colspan="5" data-name="Coins">${coinLinks(account, unifiedWallet, context)} <span class="note">one balance of each coin for the ledgers below</span></td></tr>`;

/** The coins of a wallet, as links that select them. */
function coinLinks(account: string, product: string, { selection, coinsOf }: RowContext): Html {
  const isCurrent = (coin: string) =>
    selection?.account === account && selection.product === product && selection.coin === coin;
  const links = coinsOf(account, product).map((coin) =>
    selection === undefined
      ? coin
      : html`<a class="coin" href="/${queryOf(selection, { account, product, coin })}#filters"${isCurrent(coin) ? html` aria-current="true"` : ""}>${coin}</a>`,
  );
  return joined(links, " ");
}

/** A row for configured product types of an account that were never read. */
export const neverReadRow = ({ account, productTypes }: NeverRead): Html => html`<tr>
<th scope="row"><span class="account">${account}</span> <span class="product">${productTypes.join(", ")}</span></th>
<td class="coins"></td><td class="figure" data-name="Bills"><span class="zero">–</span></td><td data-name="Complete through">never read</td>
<td class="time">${emptyStrip}<ul class="holes"><li class="warn">configured, and no run has begun to read it: <code>npm run sync -- --account ${shellWord(account)}</code></li></ul></td>
<td data-name="State">${chip("warn", "never read")}</td></tr>`;

// This many holes of a ledger are listed; the others are counted.
const holesMax = 5;

/** A ledger's holes in words. */
function holes(stream: StreamStatus, { now }: Facts): HtmlPart {
  const { closedAt, retiredAt } = stream;
  const readable = ({ from }: Interval) =>
    closedAt === undefined
      ? html`, readable for ${lengthText(Math.max(0, from + historyMs - now))} more`
      : html`, and cannot be while the account is of another kind`;
  const span = ({ from, to }: Interval) => html`${timeTag(from)} to ${timeTag(to)}`;
  const lines = [
    ...lostOf(stream).map((lost) => html`<li class="bad">lost ${span(lost)}</li>`),
    ...missingOf(stream).map(
      (missing) => html`<li class="warn">not read ${span(missing)}${readable(missing)}</li>`,
    ),
  ];
  const ends = [
    ...(retiredAt === undefined
      ? []
      : [html`<li>retired ${timeTag(retiredAt)}: no sync reads it</li>`]),
    ...(closedAt === undefined
      ? []
      : [html`<li>closed ${timeTag(closedAt)}: the account ${becameText(stream.stream)}</li>`]),
  ];
  if (lines.length + ends.length === 0) return "";
  const more = lines.length - holesMax;
  return html`<ul class="holes">${lines.slice(0, holesMax)}${
    more > 0
      ? html`<li>and ${formatCount(more)} more: <code>npm run status -- --json</code></li>`
      : ""
  }${ends}</ul>`;
}
