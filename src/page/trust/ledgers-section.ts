import { historyMs, isoTime } from "../../contract/time.ts";
import type { StreamStatus } from "../../reports/status.ts";
import type { Interval } from "../../sync/intervals.ts";
import { becameText, notAvailableLines } from "../../terminal/account-remarks.ts";
import { formatCount, formatCounted } from "../../terminal/format.ts";
import { timeTag } from "../format.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { chip } from "../icons.ts";
import { card } from "../section.ts";
import { type PageSelection, queryOf } from "../selection.ts";
import { type Facts, isLive, lostOf, missingOf, openBreaksOf, walletNameOf } from "./facts.ts";
import { type Scale, scaleOf, strip } from "./strip.ts";
import { coarse } from "./tiles.ts";

/** The second card: which time of each ledger is there. */
export function ledgersSection(facts: Facts, selection: PageSelection | undefined): Html {
  const { streams, demoStreams, now, status } = facts;
  const scale = scaleOf([...streams, ...demoStreams], now);
  const table = (rows: readonly StreamStatus[]) => ledgerTable(rows, facts, { scale, selection });
  const live = streams.filter(isLive);
  const ended = streams.filter((stream) => !isLive(stream));
  const refused = status.accounts.flatMap(({ account, notAvailable }) =>
    notAvailableLines(account, notAvailable),
  );
  return card(
    { id: "ledgers", title: "Ledgers" },
    html`${live.length === 0 ? "" : html`${legend(scale)}${table(live)}`}
${refused.map((line) => html`<p class="remark">${line}</p>`)}
${folded(ended, `Read no more: ${formatCounted(ended.length, "ledger")}`, table)}
${folded(demoStreams, `Demo trading, which is not money: ${formatCounted(demoStreams.length, "ledger")}`, table)}`,
  );
}

const folded = (
  streams: readonly StreamStatus[],
  title: string,
  table: (streams: readonly StreamStatus[]) => Html,
): HtmlPart =>
  streams.length === 0 ? "" : html`<details><summary>${title}</summary>${table(streams)}</details>`;

const sample = (shape: Html): Html =>
  html`<svg class="strip sample" viewBox="0 0 28 16" aria-hidden="true">${shape}</svg>`;

const legend = ({ start, horizon }: Scale): Html => html`<p class="legend">
<span>${sample(html`<rect class="read" x="0" width="28" y="1" height="14"/>`)} read, proven complete</span>
<span>${sample(html`<rect class="missing" x="1" width="26" y="2" height="12"/>`)} not read yet</span>
<span>${sample(html`<path class="lost" d="M1.5 0v16 M1.5 8h25 M26.5 0v16"/>`)} lost for good</span>
${start < horizon ? html`<span>${sample(html`<path class="horizon" d="M14 0v16"/>`)} right of it, the exchange still serves its bills</span>` : ""}</p>`;

type Rest = { readonly scale: Scale; readonly selection: PageSelection | undefined };

const ledgerTable = (streams: readonly StreamStatus[], facts: Facts, rest: Rest): Html => html`
<table class="ledgers stacked">
<thead><tr><th scope="col">Ledger</th><th scope="col" class="figure">Bills</th><th scope="col">Complete through</th>
<th scope="col" class="time">${axis(rest.scale)}</th><th scope="col">State</th></tr></thead>
<tbody>${streams.map((stream) => ledgerRow(stream, facts, rest))}</tbody>
</table>`;

/** What the ends of the strips are. */
function axis({ start, horizon }: Scale): Html {
  const day = (time: typeof start) => isoTime(time).slice(0, 10);
  return start < horizon
    ? html`<span class="axis older"><span>${day(start)}</span><span>${day(horizon)}, 90 days ago</span><span>now</span></span>`
    : html`<span class="axis"><span>${day(horizon)}, 90 days ago</span><span>now</span></span>`;
}

function ledgerRow(stream: StreamStatus, facts: Facts, { scale, selection }: Rest): Html {
  const { account, productType } = stream.stream;
  const wallet = walletNameOf(stream);
  const coins = facts.wallets.filter((one) => one.account === account && one.product === wallet);
  const isCurrent = (coin: string) =>
    selection?.account === account && selection.product === wallet && selection.coin === coin;
  const link = ({ coin }: { readonly coin: string }) =>
    selection === undefined
      ? coin
      : html`<a class="coin" href="/${queryOf(selection, { account, product: wallet, coin })}"${isCurrent(coin) ? html` aria-current="true"` : ""}>${coin}</a> `;
  return html`<tr>
<th scope="row"><span class="account">${account}</span> <span class="product">${productType}</span>
<span class="coins">${coins.map(link)}</span></th>
<td class="figure" data-name="Bills">${formatCount(stream.bills)}</td>
<td data-name="Complete through">${stream.completeThrough === undefined ? "not yet" : timeTag(stream.completeThrough)}</td>
<td class="time">${strip(stream, scale)}${holes(stream, facts)}</td>
<td data-name="State">${stateOf(stream, facts)}</td></tr>`;
}

// So many of a ledger's holes are told; the rest is counted.
const holesMax = 5;

/** Each hole in words. */
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

/** The worst that is known of it. */
function stateOf(stream: StreamStatus, facts: Facts): Html {
  const { account, productType } = stream.stream;
  const open = openBreaksOf(facts).filter(
    (one) =>
      one.account === account &&
      (one.productType === productType || one.productType === walletNameOf(stream)),
  );
  // What lies beside a hole is the hole's.
  const unexplained = open.filter(({ kind }) => kind !== "unread").length;
  const isMissing = missingOf(stream).length > 0;
  if (isMissing && facts.isSyncAtWork && isLive(stream)) return chip("work", "reading");
  if (unexplained > 0) return chip("bad", `${formatCount(unexplained)} open`);
  if (lostOf(stream).length > 0) return chip("bad", "lost");
  if (isMissing) return chip("warn", "not all read");
  if (open.length > 0) return chip("bad", `${formatCount(open.length)} open`);
  if (stream.rejected > 0) return chip("warn", `${formatCount(stream.rejected)} rejected`);
  if (stream.retiredAt !== undefined) return chip("none", "retired");
  if (stream.closedAt !== undefined) return chip("none", "closed");
  return chip("good", "all read");
}
