import { sql } from "drizzle-orm";
import { isoTime } from "../../contract/time.ts";
import { onlyRow } from "../../db/sql/only-row.ts";
import { productTypesOf } from "../../db/sql/wallet.ts";
import { type Html, html } from "../html.ts";
import { icon } from "../icons.ts";
import { onceFor } from "../once.ts";
import type { WalletContext } from "../section.ts";
import { type Day, daysBefore, queryOf, walletText } from "../selection.ts";
import { walletDays } from "./wallet-days.ts";

// For selected days that lie before the first bill or after all that was read.

/** Whether anything is stored of the selected days. */
export const hasDays = async (context: WalletContext): Promise<boolean> =>
  (await walletDays(context)).length > 0;

/** What is stored of the selected wallet. Days are null if there are none. */
export type WalletSpan = Readonly<Record<"first" | "last" | "readFrom", Day | null>>;

/**
 * The days of the wallet's first and last bill, and the day from which on runs read it. They are
 * queried once for each context.
 */
export const walletSpan = onceFor(readSpan);

async function readSpan({ tx, selection }: WalletContext): Promise<WalletSpan> {
  const { account, product, coin } = selection;
  const { rows } = await tx.execute<WalletSpan>(sql`
    select
      to_char(min(day), 'YYYY-MM-DD') as first,
      to_char(max(day), 'YYYY-MM-DD') as last,
      (
        select to_char(min(lower(covered + lost + open)) at time zone 'UTC', 'YYYY-MM-DD')
        from (values (${product}::text)) as own (wallet)
        join streams
          on account = ${account}
          and product_type = any(${productTypesOf("own.wallet")})
      ) as "readFrom"
    from current_ledger_days
    where account = ${account}
      and wallet = ${product}
      and coin = ${coin}`);
  return onlyRow(rows, "a wallet's span");
}

/** Whether all selected days are in the future. */
export const areToCome = ({ selection: { from }, now }: WalletContext): boolean =>
  from > isoTime(now).slice(0, 10);

/** Says that nothing is stored of the selected days, and links to the days that have bills. */
export async function emptyNote(context: WalletContext): Promise<Html> {
  const { from, to } = context.selection;
  const { first, last } = await walletSpan(context);
  const nothing = areToCome(context)
    ? html`The days from ${from} to ${to} are still to come.`
    : html`Nothing of ${walletText(context.selection)} is stored from ${from} to ${to}.`;
  if (first === null || last === null) return html`<p>${nothing}</p>`;
  return html`<p>${nothing} ${areToCome(context) ? `The bills of ${walletText(context.selection)}` : "Its bills"} are from <a href="/${queryOf(context.selection, { from: first, to: last })}#filters">${first} to ${last}</a>.</p>`;
}

/** Says that the wallet's first day is the only one with bills before the selected ones; else empty. */
export async function firstDayNote(context: WalletContext): Promise<Html> {
  const { selection } = context;
  const { first } = await walletSpan(context);
  return first === null || first !== daysBefore(selection.from, 1)
    ? html``
    : html`<p class="note">The bills of ${first}, its first day, are in none of these figures: <a href="/${queryOf(selection, { from: first })}#filters">show them, too</a>.</p>`;
}

/** Says which of the selected days no run ever read, since they are too old; empty if there are none. */
export async function tooOldNote(context: WalletContext): Promise<Html> {
  const { from, to } = context.selection;
  const { readFrom } = await walletSpan(context);
  return readFrom === null || from >= readFrom || to < readFrom
    ? html``
    : html`<p class="not-read">${icon("warn")} What is older than ${readFrom} was never read: no figure and no file has it.</p>`;
}
