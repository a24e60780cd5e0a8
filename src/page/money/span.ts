import { sql } from "drizzle-orm";
import { type Html, html } from "../html.ts";
import type { WalletContext } from "../section.ts";
import { type Day, queryOf } from "../selection.ts";
import { walletDays } from "./wallet-days.ts";

// For selected days that lie before the first bill or after all that was read.

/** Whether anything is stored of the selected days. */
export const hasDays = async (context: WalletContext): Promise<boolean> =>
  (await walletDays(context)).length > 0;

/** Says that nothing is stored of the selected days, and links to the days that have bills. */
export async function emptyNote({ tx, selection }: WalletContext): Promise<Html> {
  const { account, product, coin, from, to } = selection;
  const { rows } = await tx.execute<{ first: Day | null; last: Day | null }>(sql`
    select to_char(min(day), 'YYYY-MM-DD') as first, to_char(max(day), 'YYYY-MM-DD') as last
    from current_ledger_days
    where account = ${account}
      and wallet = ${product}
      and coin = ${coin}`);
  const { first, last } = rows[0] ?? {};
  const nothing = html`Nothing of ${account} ${product} ${coin} is stored from ${from} to ${to}.`;
  if (first == null || last == null) return html`<p>${nothing}</p>`;
  return html`<p>${nothing} Its bills are from <a href="/${queryOf(selection, { from: first, to: last })}#filters">${first} to ${last}</a>.</p>`;
}
