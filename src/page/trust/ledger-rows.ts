import { historyMs, isoTime } from "../../contract/time.ts";
import { shellWord } from "../../printable.ts";
import type { StreamStatus } from "../../reports/status.ts";
import type { Interval } from "../../sync/intervals.ts";
import { becameText } from "../../terminal/account-remarks.ts";
import { formatCount } from "../../terminal/format.ts";
import { timeTag } from "../format.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { chip } from "../icons.ts";
import { type PageSelection, queryOf } from "../selection.ts";
import { type Facts, lostOf, missingOf, type NeverRead, walletNameOf } from "./facts.ts";
import type { LedgerState } from "./ledger-state.ts";
import { emptyStrip, type Scale, strip } from "./strip.ts";
import { coarse } from "./tiles.ts";

/** What all rows share. */
export type RowContext = {
  readonly facts: Facts;
  readonly scale: Scale;
  readonly selection: PageSelection | undefined;
  /** The coins of an account's wallet. */
  readonly coinsOf: (account: string, wallet: string) => readonly string[];
  /** Whether rows list coins. */
  readonly hasCoins: boolean;
};

export const ledgerTable = (rows: readonly Html[], scale: Scale): Html => html`
<table class="ledgers stacked">
<thead><tr><th scope="col">Ledger</th><th scope="col" class="figure">Bills</th><th scope="col">Complete through</th>
<th scope="col" class="time">${axis(scale)}</th><th scope="col">State</th></tr></thead>
<tbody>${rows}</tbody>
</table>`;

/** The labels of the strips' ends. */
function axis({ start, horizon }: Scale): Html {
  const day = (time: typeof start) => isoTime(time).slice(0, 10);
  return start < horizon
    ? html`<span class="axis older"><span>${day(start)}</span><span>${day(horizon)}, 90 days ago</span><span>now</span></span>`
    : html`<span class="axis"><span>${day(horizon)}, 90 days ago</span><span>now</span></span>`;
}

export function ledgerRow(
  stream: StreamStatus,
  { tone, text }: LedgerState,
  { facts, scale, selection, coinsOf, hasCoins }: RowContext,
): Html {
  const { account, productType } = stream.stream;
  const wallet = walletNameOf(stream);
  const isCurrent = (coin: string) =>
    selection?.account === account && selection.product === wallet && selection.coin === coin;
  const link = (coin: string) =>
    selection === undefined
      ? coin
      : html`<a class="coin" href="/${queryOf(selection, { account, product: wallet, coin })}"${isCurrent(coin) ? html` aria-current="true"` : ""}>${coin}</a> `;
  return html`<tr>
<th scope="row"><span class="account">${account}</span> <span class="product">${productType}</span>${
    hasCoins
      ? html`
<span class="coins">${coinsOf(account, wallet).map(link)}</span>`
      : ""
  }</th>
<td class="figure" data-name="Bills">${formatCount(stream.bills)}</td>
<td data-name="Complete through">${stream.completeThrough === undefined ? "not yet" : timeTag(stream.completeThrough)}</td>
<td class="time">${strip(stream, scale)}${holes(stream, facts)}</td>
<td data-name="State">${chip(tone, text)}</td></tr>`;
}

/** A row for configured product types of an account that were never read. */
export const neverReadRow = ({ account, productTypes }: NeverRead): Html => html`<tr>
<th scope="row"><span class="account">${account}</span> <span class="product">${productTypes.join(", ")}</span></th>
<td class="figure" data-name="Bills"><span class="zero">–</span></td><td data-name="Complete through">never read</td>
<td class="time">${emptyStrip}<ul class="holes"><li class="warn">configured, and no run has begun to read it: <code>npm run sync -- --account ${shellWord(account)}</code></li></ul></td>
<td data-name="State">${chip("warn", "never read")}</td></tr>`;

// This many holes of a ledger are listed; the others are counted.
const holesMax = 5;

/** A ledger's holes in words. */
function holes(stream: StreamStatus, { now }: Facts): HtmlPart {
  const { closedAt, retiredAt } = stream;
  const readable = ({ from }: Interval) =>
    closedAt === undefined
      ? html`, readable for ${coarse(Math.max(0, from + historyMs - now))} more`
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
