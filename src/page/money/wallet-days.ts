import { sql } from "drizzle-orm";
import { onceFor } from "../once.ts";
import type { WalletContext } from "../section.ts";
import type { Day } from "../selection.ts";
import { type LineName, lines } from "./lines.ts";

/** One day of a wallet, or several adjacent ones. Decimals are text. */
export type Stretch = {
  /** The first day; `to` is the last. */
  readonly from: Day;
  readonly to: Day;
  /** Null where no bill of the ledger shows a balance. */
  readonly opening: string | null;
  readonly closing: string | null;
  readonly moved: Readonly<Record<LineName, string>>;
  readonly bills: number;
  /** Whether all of its time was read. */
  readonly isComplete: boolean;
};

type Row = Record<LineName, string> & {
  readonly day: Day;
  readonly opening: string | null;
  readonly closing: string | null;
  readonly bills: string;
  readonly isComplete: boolean;
};

/**
 * The selected days, oldest first, from the wallet's first bill to the end of what was read. They
 * are queried once for each context, however many sections show them.
 */
export const walletDays = onceFor(readDays);

async function readDays({ tx, selection }: WalletContext): Promise<readonly Stretch[]> {
  const { account, product, coin, from, to } = selection;
  const columns = lines.map(({ name, ofDay }) => sql`(${ofDay})::text as ${sql.identifier(name)}`);
  const { rows } = await tx.execute<Row>(sql`
    select
      to_char(day, 'YYYY-MM-DD') as day,
      opening::text,
      reported_closing::text as closing,
      bills,
      is_complete as "isComplete",
      ${sql.join(columns, sql`,\n      `)}
    from analytics.daily_rollforward
    where account = ${account}
      and product_type = ${product}
      and coin = ${coin}
      and day between ${from}::date and ${to}::date
    order by daily_rollforward.day`);
  return rows.map(({ day, opening, closing, bills, isComplete, ...moved }) => ({
    from: day,
    to: day,
    opening,
    closing,
    moved,
    bills: Number(bills),
    isComplete,
  }));
}
