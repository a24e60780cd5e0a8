import { sql } from "drizzle-orm";
import { dayMs, epochMs, isoTime } from "../../contract/time.ts";
import { walletOf } from "../../db/sql/wallet.ts";
import type { Flag } from "../charts/plot.ts";
import { type Html, html, joined } from "../html.ts";
import { onceFor } from "../once.ts";
import type { WalletContext } from "../section.ts";
import type { Day } from "../selection.ts";
import type { ChartStretch } from "./chart-stretches.ts";

/** An unresolved break of the selected wallet. */
export type WalletBreak = { readonly breakId: string; readonly day: Day; readonly state: string };

const breaksMax = 100;

/**
 * The unresolved breaks of the wallet's own product types, in the order in which they happened. They
 * are queried once for each context.
 */
export const walletBreaks = onceFor(readBreaks);

async function readBreaks({ tx, selection }: WalletContext): Promise<readonly WalletBreak[]> {
  const { account, product, coin, from, to } = selection;
  const { rows } = await tx.execute<WalletBreak>(sql`
    select
      break_id::text as "breakId",
      to_char(happened_at at time zone 'UTC', 'YYYY-MM-DD') as day,
      state
    from analytics.breaks
    where account = ${account}
      and ${walletOf("product_type")} = ${product}
      and coin in (${coin}, '')
      and state <> 'resolved'
      and happened_at >= ${`${from}T00:00:00Z`}::timestamptz
      and happened_at < ${isoTime(epochMs(Date.parse(to) + dayMs))}::timestamptz
    order by happened_at, break_id
    limit ${breaksMax}`);
  return rows;
}

export const breaksIn = (breaks: readonly WalletBreak[], { from, to }: ChartStretch) =>
  breaks.filter(({ day }) => day >= from && day <= to);

/** One flag a day, however many breaks the day has. */
export const flagsOf = (
  breaks: readonly WalletBreak[],
  stretches: readonly ChartStretch[],
): readonly Flag[] =>
  stretches.flatMap((stretch, index) => {
    const [first, ...others] = breaksIn(breaks, stretch).toSorted((a, b) =>
      a.state.localeCompare(b.state),
    );
    if (first === undefined) return [];
    const more = others.length === 0 ? "" : ` +${others.length}`;
    return [{ index, text: `#${first.breakId}${more}`, isOpen: first.state === "open" }];
  });

/** Names the breaks, with links to them. */
export const breaksText = (breaks: readonly WalletBreak[]): Html | undefined =>
  breaks.length === 0
    ? undefined
    : html`Breaks: ${joined(
        breaks.map(
          ({ breakId, day, state }) =>
            html`<a href="#break-${breakId}">#${breakId}</a> on ${day} (${state})`,
        ),
        ", ",
      )}.`;
