import { dayMs, type EpochMs, epochMs, isoTime } from "../../contract/time.ts";
import { type Html, html, joined } from "../html.ts";
import { missedNote } from "../missed.ts";
import { card, type WalletContext, type WalletSection } from "../section.ts";
import { type Day, daysBefore, type PageSelection, queryOf, walletTitle } from "../selection.ts";
import { readAccountNames } from "../wallets.ts";
import { booksOf } from "./books.ts";
import { hasDays, walletSpan } from "./span.ts";
import { summaryOf } from "./summary.ts";

/** The form that selects what the sections below it show. */
export const filters: WalletSection = {
  id: "filters",
  title: "Selection",
  async render(context) {
    const { selection, now } = context;
    const accounts = await readAccountNames(context.tx, accountsMax + 1);
    const { readFrom } = await walletSpan(context);
    const presets = presetsOf(now, readFrom).map(([title, span]) =>
      presetLink(title, span, selection),
    );
    return card(
      {
        id: "filters",
        title: "Selection",
        about: html`<span class="presets">${joined(presets, " ")}</span>`,
      },
      html`${formOf(context, accounts)}
${missedNote(context.missed ?? [], selection)}
${await summaryOf(context)}
${(await hasDays(context)) ? booksOf(context) : ""}`,
    );
  },
};

function formOf({ selection, wallets }: WalletContext, accounts: readonly string[]): Html {
  const { account, product, coin, from, to, by, isExact, hasAllLines } = selection;
  const ofProduct = wallets.filter((wallet) => wallet.product === product);
  const products = wallets.map((wallet) => wallet.product);
  const coins = ofProduct.map((wallet) => wallet.coin);
  const others = wallets.map((wallet) => wallet.coin).filter((each) => !coins.includes(each));
  return html`<form method="get" action="/#filters"><input type="hidden" name="by" value="${by}">${hasAllLines ? html`<input type="hidden" name="lines" value="all">` : ""}
${accounts.length > accountsMax ? typed(accounts, account) : choice("Account", "account", accounts, account)}${choice("Wallet", "product", products, product)}${coinChoice(coins, others, coin)}
<label>From<input type="date" name="from" value="${from}"></label>
<label>To<input type="date" name="to" value="${to}"></label>
<label class="tick"><input type="checkbox" name="exact" value="1"${isExact ? html` checked` : ""}>all digits</label>
<button type="submit">Show</button>
</form>`;
}

const choice = (
  title: string,
  name: "account" | "product" | "coin",
  among: readonly string[],
  chosen: string,
): Html =>
  html`<label>${title}<select name="${name}">${options([...new Set(among)], chosen)}</select></label>`;

/** Has the coins of other wallets, too, so that a wallet and its coin are chosen together. */
const coinChoice = (own: readonly string[], others: readonly string[], chosen: string): Html =>
  others.length === 0
    ? choice("Coin", "coin", own, chosen)
    : html`<label>Coin<select name="coin">${options([...new Set(own)], chosen)}<optgroup label="of other wallets">${options([...new Set(others)], chosen)}</optgroup></select></label>`;

// Nobody chooses from a longer list: a reader types part of a name, and the first account that
// contains it is found.
const accountsMax = 100;

const typed = (accounts: readonly string[], chosen: string): Html =>
  html`<label>Account, or a part of its name<input type="text" name="account" value="${chosen}" list="accounts" autocomplete="off" spellcheck="false"><datalist id="accounts">${accounts.slice(0, accountsMax).map((account) => html`<option value="${account}"></option>`)}</datalist></label>`;

const options = (values: readonly string[], chosen: string): readonly Html[] =>
  values.map(
    (value) =>
      html`<option value="${value}"${value === chosen ? html` selected` : ""}>${walletTitle(value)}</option>`,
  );

type DaySpan = { readonly from: Day; readonly to: Day };

/** The time spans that readers ask for most, by name. None of which nothing was read. */
function presetsOf(now: EpochMs, readFrom: Day | null): readonly (readonly [string, DaySpan])[] {
  const today = isoTime(now).slice(0, 10);
  const monthOf = (day: Day): DaySpan => {
    const from = `${day.slice(0, 7)}-01`;
    const nextMonth = isoTime(epochMs(Date.parse(from) + 31 * dayMs)).slice(0, 7);
    return { from, to: daysBefore(`${nextMonth}-01`, 1) };
  };
  const before = (day: Day) => monthOf(daysBefore(monthOf(day).from, 1));
  const [month, last] = [monthOf(today), before(today)];
  const year = Number(today.slice(0, 4));
  const all: readonly (readonly [string, DaySpan])[] = [
    ["7 days", { from: daysBefore(today, 6), to: today }],
    ["30 days", { from: daysBefore(today, 29), to: today }],
    ["90 days", { from: daysBefore(today, 89), to: today }],
    ...[month, last, before(last.from)].map((span) => [span.from.slice(0, 7), span] as const),
    ...[year, year - 1].map(
      (each) => [`${each}`, { from: `${each}-01-01`, to: `${each}-12-31` }] as const,
    ),
  ];
  return all.filter(([, { to }]) => readFrom === null || to >= readFrom);
}

const presetLink = (title: string, span: DaySpan, selection: PageSelection): Html =>
  span.from === selection.from && span.to === selection.to
    ? html`<b aria-current="true">${title}</b>`
    : html`<a href="/${queryOf(selection, span)}#filters">${title}</a>`;
