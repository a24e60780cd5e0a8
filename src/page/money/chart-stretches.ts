import { dayMs, isoTime } from "../../contract/time.ts";
import type { WalletContext } from "../section.ts";
import { type Day, daysBefore } from "../selection.ts";
import { byMonth } from "./stretches.ts";
import type { Stretch } from "./wallet-days.ts";

/** A stretch of a picture: what is known of it, or nothing where it was not read at all. */
export type ChartStretch = Pick<Stretch, "from" | "to"> & { readonly known: Stretch | undefined };

/** More than so many days are drawn and listed by month. */
export const daysShownMax = 366;

/** Every selected day from the wallet's first one to today, or every month where there are too many. */
export function chartStretches(days: readonly Stretch[], context: Shown): readonly ChartStretch[] {
  const known = days.length > daysShownMax ? byMonth(days) : days;
  return [
    ...known.map((stretch) => ({ from: stretch.from, to: stretch.to, known: stretch })),
    ...daysBehind(days, context).map((day) => ({ from: day, to: day, known: undefined })),
  ];
}

type Shown = Pick<WalletContext, "selection" | "wallets" | "now">;

/**
 * The selected days up to today of which nothing is known since they lie behind all that was read. Of a
 * wallet that is read no more there is nothing to know.
 */
export function daysBehind(
  days: readonly Stretch[],
  { selection, wallets, now }: Shown,
): readonly Day[] {
  const { account, product, coin, to } = selection;
  const last = days.at(-1);
  const isEnded = wallets.some(
    (wallet) =>
      wallet.isEnded &&
      wallet.account === account &&
      wallet.product === product &&
      wallet.coin === coin,
  );
  if (last === undefined || isEnded) return [];
  const today = isoTime(now).slice(0, 10);
  return daysBetween(last.to, to < today ? to : today);
}

/** Behind the one, up to the other: not more than are shown. */
function daysBetween(after: Day, to: Day): readonly Day[] {
  const count = Math.min(daysShownMax, (Date.parse(to) - Date.parse(after)) / dayMs);
  return Array.from({ length: Math.max(0, count) }, (_, index) => daysBefore(after, -1 - index));
}

export const isByMonth = (stretches: readonly ChartStretch[]): boolean =>
  stretches.some(({ from, to }) => from !== to);
