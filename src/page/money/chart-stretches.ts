import { dayMs, isoTime } from "../../contract/time.ts";
import type { WalletContext } from "../section.ts";
import { type Day, daysBefore } from "../selection.ts";
import { byMonth } from "./stretches.ts";
import type { Stretch } from "./wallet-days.ts";

/** A stretch of a chart. `known` is undefined if none of it was read. */
export type ChartStretch = Pick<Stretch, "from" | "to"> & { readonly known: Stretch | undefined };

/** A selection of more days is drawn and listed by month. */
export const daysShownMax = 366;

/**
 * Every selected day from the wallet's first one to today, or every month if there are too many
 * days.
 */
export function chartStretches(days: readonly Stretch[], context: Shown): readonly ChartStretch[] {
  const known = days.length > daysShownMax ? byMonth(days) : days;
  return [
    ...known.map((stretch) => ({ from: stretch.from, to: stretch.to, known: stretch })),
    ...daysBehind(days, context).map((day) => ({ from: day, to: day, known: undefined })),
  ];
}

type Shown = Pick<WalletContext, "selection" | "wallets" | "now">;

/**
 * The selected days after the last day that was read, up to today. None for a wallet that is no
 * longer read: it has no such days.
 */
function daysBehind(days: readonly Stretch[], { selection, wallets, now }: Shown): readonly Day[] {
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

/** The days after `after` up to `to`, at most {@link daysShownMax}. */
function daysBetween(after: Day, to: Day): readonly Day[] {
  const count = Math.min(daysShownMax, (Date.parse(to) - Date.parse(after)) / dayMs);
  return Array.from({ length: Math.max(0, count) }, (_, index) => daysBefore(after, -1 - index));
}

export const isByMonth = (stretches: readonly ChartStretch[]): boolean =>
  stretches.some(({ from, to }) => from !== to);
