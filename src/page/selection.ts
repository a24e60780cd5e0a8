import { unifiedWallet } from "../contract/product-types.ts";
import { dayMs, type EpochMs, epochMs, isoTime } from "../contract/time.ts";

// What the page's address selects. Every state of the page has an address.

/** A coin that has bills, in an account's wallet. */
export type Wallet = {
  readonly account: string;
  /** A classic product type, or `UTA`. */
  readonly product: string;
  readonly coin: string;
  readonly bills: number;
  /** Whether syncs no longer read it. */
  readonly isEnded: boolean;
  /** Whether it is of demo trading, which is not money. */
  readonly isDemo: boolean;
};

/** A UTC day: 2026-11-22. */
export type Day = string;

export type PageSelection = Pick<Wallet, "account" | "product" | "coin"> & {
  /** Both days are included. */
  readonly from: Day;
  readonly to: Day;
  readonly by: "day" | "month";
  /** Whether all digits are shown. */
  readonly isExact: boolean;
  /** Whether the rollforward by day has a column for each line, not for a few groups of them. */
  readonly hasAllLines?: true | undefined;
};

/** A wallet's product as people know it. */
export const walletTitle = (product: string): string =>
  product === unifiedWallet ? "unified account" : product;

/** The selected wallet in words, the same in every heading. */
export const walletText = ({
  account,
  product,
  coin,
}: Pick<Wallet, "account" | "product" | "coin">) => `${account} ${walletTitle(product)} ${coin}`;

const usualDays = 90;

/**
 * What an address selects, from the wallets that exist. What does not exist falls back: an account
 * to the largest ledger that is still read, a product to its account's largest, a coin to its
 * product's largest, an invalid day to the last 90 days.
 *
 * @returns undefined if no wallet is stored.
 */
export function selectionOf(
  asked: URLSearchParams,
  wallets: readonly Wallet[],
  now: EpochMs,
): PageSelection | undefined {
  const of = (name: "account" | "product" | "coin", among: readonly Wallet[]) => {
    const found = among.filter((wallet) => wallet[name] === asked.get(name));
    return found.length > 0 ? found : among;
  };
  const [wallet] = of("coin", largestLedger(of("product", of("account", wallets))));
  if (wallet === undefined) return undefined;
  const { account, product, coin } = wallet;
  const to = dayOf(asked.get("to")) ?? today(now);
  const from = dayOf(asked.get("from")) ?? daysBefore(to, usualDays - 1);
  return {
    account,
    product,
    coin,
    ...(from <= to ? { from, to } : { from: to, to: from }),
    by: asked.get("by") === "month" ? "month" : "day",
    isExact: asked.get("exact") === "1",
    ...(asked.get("lines") === "all" && { hasAllLines: true }),
  };
}

/** The coins of the largest ledger: one account and one product. The largest coin is first. */
function largestLedger(wallets: readonly Wallet[]): readonly Wallet[] {
  const ledgers = [...Map.groupBy(wallets, ({ account, product }) => `${product} ${account}`)];
  const rank = (coins: readonly Wallet[]) => [
    coins.every(({ isDemo }) => isDemo) ? 0 : 1,
    coins.every(({ isEnded }) => isEnded) ? 0 : 1,
    coins.reduce((sum, { bills }) => sum + bills, 0),
  ];
  const [largest] = ledgers
    .map(([, coins]) => ({ coins, rank: rank(coins) }))
    .toSorted((a, b) => compared(b.rank, a.rank));
  return (largest?.coins ?? []).toSorted((a, b) => b.bills - a.bills);
}

const compared = (a: readonly number[], b: readonly number[]): number =>
  a.map((number, place) => number - (b[place] ?? 0)).find((difference) => difference !== 0) ?? 0;

const today = (now: EpochMs): Day => isoTime(now).slice(0, 10);

export const daysBefore = (day: Day, days: number): Day =>
  isoTime(epochMs(Date.parse(day) - days * dayMs)).slice(0, 10);

// Bitcoin's first block: no futures on coins are older. Postgres accepts every day up to the last
// one.
const [firstDay, lastDay] = ["2009-01-03", "2999-12-31"];

/** The nearest day that a page can show. Undefined if the text is no day of the calendar. */
function dayOf(text: string | null): Day | undefined {
  if (text === null || !/^\d{4}-\d\d-\d\d$/.test(text)) return undefined;
  const time = Date.parse(`${text}T00:00:00Z`);
  const isDay = !Number.isNaN(time) && isoTime(epochMs(time)).startsWith(text);
  if (!isDay) return undefined;
  return text < firstDay ? firstDay : text > lastDay ? lastDay : text;
}

/** Whether the text names a day. A page may show the first or the last one that it knows instead. */
export const isDay = (text: string): boolean => dayOf(text) !== undefined;

/** Whether a page can show the day that this text names. */
export const isShownDay = (text: string): boolean => dayOf(text) === text;

/** A selection with some changes, as the query of an address: `?account=main&…`. */
export function queryOf(selection: PageSelection, changes: Partial<PageSelection> = {}): string {
  const { account, product, coin, from, to, by, isExact, hasAllLines } = {
    ...selection,
    ...changes,
  };
  const query = new URLSearchParams({ account, product, coin, from, to, by });
  if (isExact) query.set("exact", "1");
  if (hasAllLines) query.set("lines", "all");
  return `?${query}`;
}
