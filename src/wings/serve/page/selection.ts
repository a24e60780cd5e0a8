import { unifiedProductTypes, unifiedWallet } from "../../../core/contract/product-types.ts";
import { dayMs, type EpochMs, epochMs, isoTime } from "../../../lib/time.ts";
import { type PieceName, pieceNames } from "../../../output/pieces.ts";

/** What a figure narrows the bills of some days to. */
export type Narrowed = {
  readonly piece?: PieceName | undefined;
  /** A contract; empty for bills that name none. */
  readonly symbol?: string | undefined;
  /** A business type. */
  readonly type?: string | undefined;
};

/** The bills of a figure, and what a reader searches among them. */
export type BillFilter = Narrowed & {
  /** Part of a bill's id, type or contract; empty for all. */
  readonly search: string;
};

/** The address of the bills that make up a figure. @param before the place of a bill: older ones are listed. */
export function billsAddress(
  selection: PageQuery,
  { from, to, piece, symbol, type, search = "" }: Days & Narrowed & Partial<BillFilter>,
  before: string | null = null,
): string {
  const others = Object.entries({ of: piece, symbol, type, search: search || undefined, before })
    .filter((pair): pair is [string, string] => typeof pair[1] === "string")
    .map((pair) => `&${new URLSearchParams([pair])}`);
  const exact = selection.isExact ? "&exact=1" : "";
  return `/bills?${walletValue(selection)}&from=${from}&to=${to}${others.join("")}${exact}`;
}

/** The filter of such an address. An unknown piece is none. */
export const filterIn = (asked: Asked): BillFilter => ({
  piece: pieceNames.find((name) => name === asked.get("of")),
  symbol: asked.get("symbol") ?? undefined,
  type: asked.get("type") ?? undefined,
  search: asked.get("search")?.trim() ?? "",
});

// What the page's address selects. Every state of the page has an address.

export const parameters = [
  ...(["account", "product", "coin", "wallet", "from", "to", "view", "exact"] as const),
  ...(["of", "symbol", "type", "search", "before", "find", "format"] as const),
] as const;

/** The query of an address. */
export type Asked = Iterable<[string, string]> & {
  readonly get: (name: (typeof parameters)[number]) => string | null;
};

/** A coin that has bills, in an account's wallet. */
export type Wallet = {
  readonly account: string;
  /** A classic product type, or `UTA`. */
  readonly product: string;
  readonly coin: string;
  readonly bills: number;
};

/** A UTC day: 2026-11-22. */
type Day = string;

/** Both days are inclusive. */
export type Days = { readonly from: Day; readonly to: Day };

export const views = ["months", "days", "contracts", "kinds"] as const;
export type View = (typeof views)[number];

export type PageQuery = Pick<Wallet, "account" | "product" | "coin"> &
  Days & {
    /** What the rows of the statement's table are. */
    readonly view: View;
    /** Whether all digits are shown. */
    readonly isExact: boolean;
  };

export const walletTitle = ({ product, coin }: Pick<Wallet, "product" | "coin">): string =>
  `${product === unifiedWallet ? "unified account" : product} · ${coin}`;

/** The product types that share the wallet's balance. */
export const walletProductTypes = ({ product }: Pick<Wallet, "product">): readonly string[] =>
  product === unifiedWallet ? unifiedProductTypes : [product];

const usualDays = 90;

/**
 * What an address selects. A wallet that does not exist falls back to the largest one of its account; an invalid day to the last 90 days.
 *
 * @returns undefined if no wallet is stored.
 */
export function selectionOf(
  asked: Asked,
  wallets: readonly Wallet[],
  now: EpochMs,
): PageQuery | undefined {
  const wanted = (wallet: Wallet) =>
    (["account", "product", "coin"] as const).map((name) => wallet[name] === asked.get(name));
  // An account weighs more than a product, and a product more than a coin.
  const rank = (wallet: Wallet) => wanted(wallet).reduce((sum, is) => sum * 2 + Number(is), 0);
  const [wallet] = wallets.toSorted((a, b) => rank(b) - rank(a) || b.bills - a.bills);
  if (wallet === undefined) return undefined;
  const { account, product, coin } = wallet;
  return {
    ...{ account, product, coin },
    ...daysIn(asked, now, usualDays),
    view: views.find((view) => view === asked.get("view")) ?? "months",
    isExact: asked.get("exact") === "1",
  };
}

/** The days of an address: by default the last ones, until today. */
export function daysIn(asked: Asked, now: EpochMs, lastDays: number): Days {
  const to = dayOf(asked.get("to")) ?? isoTime(now).slice(0, 10);
  const from = dayOf(asked.get("from")) ?? daysAfter(to, 1 - lastDays);
  return from <= to ? { from, to } : { from: to, to: from };
}

/** What an address asks for and does not exist, so that something else is shown: `coin “XYZ”`. */
export const missedIn = (asked: Asked, selection: PageQuery): readonly string[] =>
  (["account", "product", "coin", "from", "to", "view"] as const).flatMap((name) => {
    const text = asked.get(name) ?? "";
    // Days in the wrong order are shown in the right one.
    const shown: readonly string[] =
      name === "from" || name === "to" ? [selection.from, selection.to] : [selection[name]];
    return text === "" || shown.includes(text) ? [] : [`${name} “${text}”`];
  });

/** The query of an address, where a form sends a wallet as one value: see {@link walletValue}. */
export function askedIn(query: Asked): Asked {
  const asked = new URLSearchParams(query);
  for (const [name, value] of new URLSearchParams(asked.get("wallet") ?? ""))
    asked.set(name, value);
  asked.delete("wallet");
  return asked;
}

/** An account, its wallet and a coin as one value of a form. */
export const walletValue = ({
  account,
  product,
  coin,
}: Pick<Wallet, "account" | "product" | "coin">): string =>
  String(new URLSearchParams({ account, product, coin }));

/** A selection with changes, as the query of an address: `?account=main&…`. */
export function queryOf(selection: PageQuery, changes: Partial<PageQuery> = {}): string {
  const { from, to, view, isExact, ...wallet } = { ...selection, ...changes };
  return `?${walletValue(wallet)}&from=${from}&to=${to}&view=${view}${isExact ? "&exact=1" : ""}`;
}

export const daysAfter = (day: Day, days: number): Day =>
  isoTime(epochMs(Date.parse(day) + days * dayMs)).slice(0, 10);

/** The times of the selected days: `to` is exclusive. */
export const timesOf = ({ from, to }: Days) => ({
  from: epochMs(Date.parse(from)),
  to: epochMs(Date.parse(to) + dayMs),
});

// Bitcoin's first block: no bill is older. Postgres accepts every day up to the last one.
const [firstDay, lastDay] = ["2009-01-03", "2999-12-31"];

/** The nearest day that a page can show; undefined if the text is no day of the calendar. */
function dayOf(text: string | null): Day | undefined {
  if (text === null || !/^\d{4}-\d\d-\d\d$/.test(text)) return undefined;
  const time = Date.parse(`${text}T00:00:00Z`);
  if (Number.isNaN(time) || !isoTime(epochMs(time)).startsWith(text)) return undefined;
  return text < firstDay ? firstDay : text > lastDay ? lastDay : text;
}
