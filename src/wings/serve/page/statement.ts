import {
  balanceText,
  type ComparedBalance,
  readComparedBalances,
} from "../../../check/health/balances.ts";
import type { Transaction } from "../../../core/postgres/connect.ts";
import { union } from "../../../core/words/intervals.ts";
import { epochMs, isoTime } from "../../../lib/time.ts";
import { type Html, type HtmlPart, html } from "../../../output/html.ts";
import { amount, daysText, isZero, movement } from "../../../output/html-figures.ts";
import {
  isOfChain,
  movementPieces,
  type PieceName,
  pieces,
  resultParts,
} from "../../../output/pieces.ts";
import { formatCount } from "../../../output/text.ts";
import { chart } from "./chart.ts";
import { downloadFormats } from "./downloads.ts";
import { block, dateFields, frame, missedNote } from "./layout.ts";
import {
  areAccepted,
  type Group,
  monthsOf,
  type Period,
  readBreakDays,
  readDays,
  readGroups,
  together,
} from "./periods.ts";
import {
  billsAddress,
  type Days,
  daysAfter,
  type Narrowed,
  type PageQuery,
  queryOf,
  timesOf,
  type View,
  views,
  walletTitle,
  walletValue,
} from "./selection.ts";
import type { Selected, Wallets } from "./wallets.ts";

/** How one wallet's balance came about in the selected days. */
export async function statement(
  tx: Transaction,
  { selection, missed, ...wallets }: Selected,
  today: string,
): Promise<Html> {
  const days = await readDays(tx, selection);
  const whole = together(days);
  const { account, view } = selection;
  const last = lastOf(selection, today);
  const unread = unreadDays(days, last, today);
  const balances = await readComparedBalances(
    tx,
    [account],
    selection.to >= today ? undefined : timesOf(selection).to,
  );
  const breaks = await readBreakDays(tx, selection);
  const rest =
    whole === undefined
      ? html`<p>Nothing is stored of ${daysText(selection)}.</p>`
      : html`${figures(whole, selection, { isRead: unread.length === 0, isAccepted: areAccepted(breaks, selection) })}${unreadNote(unread)}${balancesNote(balances, selection)}
${chart(days, { ...selection, to: last }, { breaks: breaks.flatMap(({ day, isOpen }) => (isOpen ? day : [])), unread }, (part) => billsAddress(selection, part))}
<div class="head"><nav class="switch" aria-label="Rows of the table">${views.map((each) => viewLink(each, selection))}</nav><small class="beside">${digitsLink(selection)}</small></div>
${
  view === "months" || view === "days"
    ? periodTable(view === "months" ? monthsOf(days) : days, whole, selection, unread)
    : groupTable(await readGroups(tx, selection), whole, selection)
}`;
  return block(
    { id: "statement", title: "Statement", beside: form(selection, wallets, today) },
    html`${missedNote(missed, `: this is ${account} ${walletTitle(selection)}, ${daysText(selection)}`)}
${rest}`,
  );
}

/** The selected days before today that are not, or not wholly, read: adjacent ones together. */
function unreadDays(days: readonly Period[], last: string, today: string): readonly Days[] {
  const spans: Days[] = days.filter(({ to, isComplete }) => !isComplete && to < today);
  const end = days.at(-1)?.to;
  // Today is never wholly read; where yesterday is not either, it is as unread as that.
  if (end !== undefined && end < last && end < daysAfter(today, -1))
    spans.push({ from: daysAfter(end, 1), to: last });
  return union(spans.map(timesOf)).map(({ from, to }) => ({
    from: isoTime(from).slice(0, 10),
    to: isoTime(epochMs(to - 1)).slice(0, 10),
  }));
}

const spansMax = 3;

const unreadNote = (unread: readonly Days[]): Html =>
  unread.length === 0
    ? html``
    : html`<p class="warn">Not all is read of ${unread.slice(0, spansMax).map(daysText).join(", ")}${unread.length > spansMax ? ` and ${unread.length - spansMax} more` : ""}: the figures are without their bills.</p>`;

/** The exchange's own balance of the wallet at the end of the shown days or later. */
const balancesNote = (balances: readonly ComparedBalance[], { product, coin }: PageQuery): Html =>
  html`${balances
    .filter((one) => one.ledger === product && one.coin === coin)
    .map((one) => html`<p class="${one.differs ? "warn" : "quiet"}">${balanceText(one)}</p>`)}`;

/** Days to come are drawn no more than once they have come. */
const lastOf = ({ from, to }: PageQuery, today: string): string =>
  to > today && from <= today ? today : to;

/** Account, wallet and coin are one choice, so that all of them exist together. */
function form(selection: PageQuery, { wallets, accounts }: Wallets, today: string): Html {
  const { account, to, view, isExact } = selection;
  const groups = [...Map.groupBy(wallets, (wallet) => wallet.account)].map(
    ([name, walletsOfAccount]) => {
      const options = walletsOfAccount.map((wallet) => {
        const value = walletValue(wallet);
        return html`<option value="${value}"${value === walletValue(selection) ? html` selected` : ""}>${groupsAreMany(wallets) ? `${name} · ` : ""}${walletTitle(wallet)}</option>`;
      });
      return html`<optgroup label="${name}">${options}</optgroup>`;
    },
  );
  const search =
    accounts === new Set(wallets.map((wallet) => wallet.account)).size
      ? ""
      : html`<form method="get" action="/#statement"><label><span class="unseen">Account, or a part of its name, of ${formatCount(accounts)}</span><input type="search" name="account" value="${account}" spellcheck="false" autocomplete="off"></label></form>`;
  return html`${search}<form method="get" action="/#statement"><input type="hidden" name="view" value="${view}">${isExact ? html`<input type="hidden" name="exact" value="1">` : ""}
<label><span class="unseen">Wallet</span><select name="wallet">${groups}</select></label>
${dateFields(selection)}
<button>Show</button></form>
<details class="menu"><summary>Period</summary><div>${spansOf(today).map(([title, span]) => html`<a href="/${queryOf(selection, span)}#statement">${title}</a>`)}</div></details>
<details class="menu"><summary>Download</summary><div>${Object.entries(downloadFormats).map(([format, { title }]) => html`<a href="/export${queryOf(selection)}&format=${format}">${title}</a>`)}<a href="/close${queryOf(selection)}">Close of ${to.slice(0, 7)}</a></div></details>`;
}

const groupsAreMany = (wallets: Wallets["wallets"]): boolean =>
  wallets.some(({ account }) => account !== wallets[0]?.account);

/** The days that readers ask for most. */
function spansOf(today: string): readonly (readonly [string, { from: string; to: string }])[] {
  const month = `${today.slice(0, 7)}-01`;
  const lastMonth = { to: daysAfter(month, -1), from: `${daysAfter(month, -1).slice(0, 7)}-01` };
  const year = Number(today.slice(0, 4));
  return [
    ...[7, 30, 90, 365].map(
      (days) => [`${days} days`, { from: daysAfter(today, 1 - days), to: today }] as const,
    ),
    ["This month", { from: month, to: today }],
    ["Last month", lastMonth],
    ...[year, year - 1].map(
      (each) => [`${each}`, { from: `${each}-01-01`, to: `${each}-12-31` }] as const,
    ),
  ];
}

/** Opening, what moved the balance, and closing: they add up. Each movement opens its bills. */
function figures(
  whole: Period,
  selection: PageQuery,
  { isRead, isAccepted }: { readonly isRead: boolean; readonly isAccepted: boolean },
): Html {
  // A result beside what nobody can explain is no good news yet.
  const isCertain =
    isRead && isZero(whole.figures.discrepancy) && isZero(whole.figures.unreconciled);
  const moved = (name: PieceName): Html =>
    html`<div><small>${pieces[name].title}</small><b${name === "discrepancy" && isAccepted ? html` class="quiet" title="accepted"` : html` class="${name === "result" && !isCertain ? "" : toneOf(name, whole.figures[name])}"`}>${linked(whole, name, selection)}</b></div>`;
  const shown = movementPieces.filter(
    (name) => name === "netFlows" || name === "other" || !isZero(whole.figures[name]),
  );
  return html`<div class="sum"><div><small>Opening</small><b>${amount(whole.opening, selection)}</b></div>
${moved("result")}${shown.map(moved)}
<div><small>Closing, ${selection.coin}</small><b>${amount(whole.closing, selection)}</b></div></div>`;
}

const toneOf = (name: PieceName, decimal: string): string => {
  if (name === "unreconciled") return "warn";
  if (isOfChain(name) && name !== "leftBehind") return "bad";
  return name !== "result" || isZero(decimal) ? "" : decimal.startsWith("-") ? "bad" : "good";
};

/** A figure as a link to its bills; plain where no bill makes it up. */
function linked(
  { from, to, figures: sums }: Pick<Period, "from" | "to" | "figures">,
  name: PieceName,
  selection: PageQuery,
  narrowed: Narrowed = {},
): Html {
  const figure = movement(sums[name], selection);
  return isZero(sums[name]) || name === "leftBehind"
    ? figure
    : html`<a href="${billsAddress(selection, { from, to, piece: name, ...narrowed })}">${figure}</a>`;
}

const viewLink = (view: View, selection: PageQuery): Html =>
  html`<a href="/${queryOf(selection, { view })}#statement"${view === selection.view ? html` aria-current="true"` : ""}>${view[0]?.toUpperCase()}${view.slice(1)}</a>`;

const digitsLink = (selection: PageQuery): Html =>
  html`each figure opens its bills · <a href="/${queryOf(selection, { isExact: !selection.isExact })}#statement">${selection.isExact ? "usual digits" : "all digits"}</a>`;

/** The columns that have a figure. */
const columnsOf = (
  all: readonly { readonly figures: Period["figures"] }[],
  names: readonly PieceName[],
) =>
  names.filter(
    (name) =>
      ["profit", "fees", "funding", "netFlows"].includes(name) ||
      all.some(({ figures: sums }) => !isZero(sums[name])),
  );

const head = (first: string, titles: readonly string[]): Html =>
  html`<thead><tr><th scope="col">${first}</th>${titles.map((title) => html`<th scope="col" class="n">${title}</th>`)}</tr></thead>`;

const cell = (content: HtmlPart, name = "n"): Html => html`<td class="${name}">${content}</td>`;

/** Months or days, the newest first, with their sum. */
function periodTable(
  periods: readonly Period[],
  whole: Period,
  selection: PageQuery,
  unread: readonly Days[],
): Html {
  const [parts, moves] = [columnsOf(periods, resultParts), columnsOf(periods, movementPieces)];
  const isUnread = ({ from, to }: Period) => unread.some((one) => one.from <= to && one.to >= from);
  const row = (period: Period, name: HtmlPart): Html =>
    html`<tr><th scope="row">${name}${isUnread(period) ? html` <span class="warn" title="not all read">●<span class="unseen"> not all read</span></span>` : ""}</th>${[
      cell(amount(period.opening, selection)),
      ...parts.map((part) => cell(linked(period, part, selection))),
      cell(linked(period, "result", selection), "n strong"),
      ...moves.map((move) => cell(linked(period, move, selection))),
      cell(amount(period.closing, selection), "n strong"),
    ]}</tr>`;
  const titles = [...parts, "result" as const, ...moves].map((name) => pieces[name].title);
  return frame(
    "Table of the statement",
    html`<table data-rove="${titles.length}">${head(selection.view === "months" ? "Month" : "Day", ["Opening", ...titles, "Closing"])}
<tbody>${periods.toReversed().map((period) => row(period, html`<a href="${billsAddress(selection, period)}">${daysText(period)}</a>`))}</tbody>
<tfoot>${periods.length > 1 ? row(whole, daysText(whole)) : ""}</tfoot></table>`,
  );
}

/** Contracts or kinds of bills, the largest first, with their sum. */
function groupTable(groups: readonly Group[], whole: Period, selection: PageQuery): Html {
  const { view } = selection;
  const isByContract = view === "contracts";
  const columns = isByContract
    ? [...columnsOf(groups, resultParts), "result" as const, ...columnsOf(groups, movementPieces)]
    : [];
  const linkTo = (group: Group): Narrowed =>
    isByContract ? { symbol: group.name } : { type: group.name };
  const rows = groups.map((group) => {
    const all = billsAddress(selection, { ...selection, ...linkTo(group) });
    const name = group.name === "" ? "no contract" : group.name.replaceAll("_", " ");
    const cells = isByContract
      ? columns.map((piece) =>
          cell(
            linked({ ...selection, figures: group.figures }, piece, selection, linkTo(group)),
            piece === "result" ? "n strong" : "n",
          ),
        )
      : [
          html`<td>${group.category === "unclassified" ? html`<span class="warn">unclassified</span>` : group.category}</td>`,
          cell(html`<a href="${all}">${movement(group.moved, selection)}</a>`),
        ];
    return html`<tr><th scope="row"><a href="${all}">${name}</a></th>${cells}${cell(formatCount(group.bills))}</tr>`;
  });
  if (groups.length === 0) return html`<p>No bill moved ${selection.coin} in these days.</p>`;
  const titles = isByContract ? columns.map((name) => pieces[name].title) : ["Moved"];
  const total = isByContract
    ? html`<tr><th scope="row">all</th>${columns.map((piece) => cell(linked(whole, piece, selection)))}${cell(formatCount(whole.bills))}</tr>`
    : "";
  return frame(
    "Table of the statement",
    html`<table data-rove="${titles.length}">${
      isByContract
        ? head("Contract", [...titles, "Bills"])
        : html`<thead><tr><th scope="col">Kind of bill</th><th scope="col">Category</th><th scope="col" class="n">Moved</th><th scope="col" class="n">Bills</th></tr></thead>`
    }<tbody>${rows}</tbody><tfoot>${total}</tfoot></table>`,
  );
}
