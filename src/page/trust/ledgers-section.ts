import { unifiedWallet } from "../../contract/product-types.ts";
import type { StreamStatus } from "../../reports/status.ts";
import { notAvailableLines } from "../../terminal/account-remarks.ts";
import { formatCount, formatCounted } from "../../terminal/format.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { card } from "../section.ts";
import type { Shown } from "../shown.ts";
import { type Facts, isLive, lostOf, missingOf, openBreaksOf, walletNameOf } from "./facts.ts";
import { ledgerRow, ledgerTable, neverReadRow, type RowContext, walletRow } from "./ledger-rows.ts";
import { worstFirst } from "./ledger-state.ts";
import { isUnexplained } from "./remedy.ts";
import { type Scale, scaleOf } from "./strip.ts";

// Nobody reads more ledgers, and a browser takes seconds to lay them out: others are searched by
// name.
const shownMax = 50;
const remarksMax = 10;

/** The second card: which time of each ledger was read, with ledgers that need attention first. */
export function ledgersSection(facts: Facts, shown: Shown): Html {
  const { streams, demoStreams, neverRead, now } = facts;
  const { find, selection } = shown;
  const isFound = (account: string) => account.toLowerCase().includes(find.toLowerCase());
  const found = (some: readonly StreamStatus[]) =>
    some.filter((one) => isFound(one.stream.account));
  const live = found(streams.filter(isLive));
  const ended = found(streams.filter((stream) => !isLive(stream)));
  const demo = found(demoStreams);
  const scale = scaleOf([...streams, ...demoStreams], now);
  const context = { facts, scale, selection, coinsOf: coinsIn(facts, shown) };
  const hasBreak = openBreaksOf(facts).some((entry) => isUnexplained(entry, facts));
  const never = neverRead.filter(({ account }) => isFound(account)).map(neverReadRow);
  const isSearched = find !== "" || [live, ended, demo].some(({ length }) => length > shownMax);
  return card(
    { id: "ledgers", title: "Ledgers" },
    html`${isSearched ? searchForm(shown) : ""}${live.length + never.length === 0 ? "" : html`${live.some(hasHole) || never.length > 0 || scale.start < scale.horizon || hasBreak ? legend(scale, hasBreak) : ""}${tableOf(live, never, context)}`}
${live.length + never.length + ended.length + demo.length === 0 ? html`<p class="remark">No account has “${find}” in its name.</p>` : ""}
${remarks(facts, isFound)}
${folded(ended, `Read no more: ${formatCounted(ended.length, "ledger")}`, context, ended.some(hasHole))}
${folded(demo, `Demo trading, which is not money: ${formatCounted(demo.length, "ledger")}`, context)}`,
  );
}

function tableOf(
  streams: readonly StreamStatus[],
  never: readonly Html[],
  context: RowContext,
): Html {
  const all = worstFirst(streams, context.facts);
  const withWallet = new Set<string>();
  const known = all.slice(0, shownMax).map(({ stream, state }) => {
    const { account } = stream.stream;
    const row = ledgerRow(stream, state, context);
    // A unified account's product types share one wallet, whose coins are listed once.
    if (walletNameOf(stream) !== unifiedWallet || withWallet.has(account)) return row;
    withWallet.add(account);
    return html`${walletRow(account, context)}${row}`;
  });
  const rows = [...never, ...known].slice(0, shownMax);
  const hidden = never.length + all.length - rows.length;
  return html`${ledgerTable(rows, context.scale)}${
    hidden === 0
      ? ""
      : html`<p class="remark">and ${formatCounted(hidden, "ledger")} more, of which ${restText(all.slice(shownMax - never.length))}</p>`
  }`;
}

/** "19,950 all read" */
const restText = (rest: ReturnType<typeof worstFirst>): string =>
  [...Map.groupBy(rest, ({ state }) => state.text)]
    .map(([text, those]) => `${formatCount(those.length)} ${text}`)
    .join(", ");

const folded = (
  streams: readonly StreamStatus[],
  title: string,
  context: RowContext,
  isOpen = false,
): HtmlPart =>
  streams.length === 0
    ? ""
    : html`<details${isOpen ? html` open` : ""}><summary>${title}</summary>${tableOf(streams, [], context)}</details>`;

const hasHole = (stream: StreamStatus): boolean =>
  missingOf(stream).length + lostOf(stream).length > 0;

/** A form that submits to the page's address, so that it works without scripts. */
const searchForm = ({
  find,
}: Shown): Html => html`<form class="search" method="get" action="/#ledgers" role="search">
<label>Accounts with <input type="search" name="find" value="${find}"> in their names</label> <button type="submit">Find</button>
${find === "" ? "" : html`<a href="/#ledgers">all</a>`}</form>`;

/** The coins of each wallet. For the selected account they include coins without stored days. */
function coinsIn({ chains, demoChains }: Facts, { wallets }: Shown): RowContext["coinsOf"] {
  const keyOf = (account: string, wallet: string) => JSON.stringify([account, wallet]);
  const byWallet = Map.groupBy(
    [
      ...wallets,
      ...[...chains, ...demoChains].map(({ wallet: product, ...chain }) => ({ product, ...chain })),
    ],
    ({ account, product }) => keyOf(account, product),
  );
  return (account, wallet) => [
    ...new Set((byWallet.get(keyOf(account, wallet)) ?? []).map(({ coin }) => coin)),
  ];
}

/** Remarks on what the accounts' keys were refused. */
function remarks({ status }: Facts, isFound: (account: string) => boolean): HtmlPart {
  const lines = status.accounts
    .filter(({ account }) => isFound(account))
    .flatMap(({ account, notAvailable }) => notAvailableLines(account, notAvailable));
  const more = lines.length - remarksMax;
  return [
    ...lines.slice(0, remarksMax).map((line) => html`<p class="remark">${line}</p>`),
    more > 0
      ? html`<p class="remark">and ${formatCount(more)} more such lines: <code>npm run status</code></p>`
      : "",
  ];
}

const sample = (shape: Html): Html =>
  html`<svg class="strip sample" viewBox="0 0 28 16" aria-hidden="true">${shape}</svg>`;

const legend = ({ start, horizon }: Scale, hasBreak: boolean): Html => html`<p class="legend">
<span>${sample(html`<rect class="read" x="0" width="28" y="1" height="14"/>`)} read completely</span>
<span>${sample(html`<rect class="missing" x="1" width="26" y="2" height="12"/>`)} not read yet</span>
<span>${sample(html`<path class="lost" d="M1.5 0v16 M1.5 8h25 M26.5 0v16"/>`)} lost for good</span>
${hasBreak ? html`<span>${sample(html`<path class="break" d="M10 4L18 12 M18 4L10 12"/>`)} does not add up</span>` : ""}
${start < horizon ? html`<span>${sample(html`<path class="horizon" d="M14 0v16"/>`)} right of it, the exchange still serves its bills</span>` : ""}</p>`;
