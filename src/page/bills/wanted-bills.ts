import { type SQL, sql } from "drizzle-orm";
import { unifiedProductTypes, unifiedWallet } from "../../contract/product-types.ts";
import { textArray } from "../../db/sql/array-literal.ts";
import type { BillFilter } from "../money/bill-links.ts";
import type { WalletContext } from "../section.ts";
import { daysBefore } from "../selection.ts";

// Which bills make up a figure: conditions and expressions over rows of analytics.entries and
// analytics.activity.

/** The wallet's product types as an array literal, to be cast to its type. */
export const productTypesOf = ({ selection: { product } }: WalletContext): string =>
  textArray(product === unifiedWallet ? unifiedProductTypes : [product]);

export const isOfWallet = (context: WalletContext): SQL => {
  const { account, coin } = context.selection;
  return sql`account = ${account}
      and product_type = any(${productTypesOf(context)}::text[])
      and coin = ${coin}`;
};

/** Whether a bill is of the selected days. */
export const isInTime = ({ selection: { from, to } }: WalletContext): SQL =>
  sql`c_time >= ${`${from}T00:00:00Z`}::timestamptz
      and c_time < ${`${daysBefore(to, -1)}T00:00:00Z`}::timestamptz`;

export const isWanted = ({ pieces, symbol }: BillFilter): SQL => {
  const any = pieces.map(({ isOfBill }) => sql`(${isOfBill})`);
  return sql`${any.length === 0 ? sql`true` : sql`(${sql.join(any, sql` or `)})`}
      and ${symbol === undefined ? sql`true` : sql`coalesce(symbol, '') = ${symbol}`}`;
};

/** What a bill contributes to the pieces. The pieces of one link exclude each other. */
export const partOf = (pieces: BillFilter["pieces"]): SQL =>
  pieces.length === 0
    ? sql`wallet_amount + wallet_fee`
    : sql`case ${sql.join(
        pieces.map(({ isOfBill, ofBill }) => sql`when ${isOfBill} then ${ofBill}`),
        sql` `,
      )} end`;

/** Whether the pieces need the bills' places in the balance chain. */
export const isOfChain = ({ pieces }: BillFilter): boolean =>
  pieces.some((piece) => "isOfChain" in piece && piece.isOfChain);

/** The selected days with bills whose balance does not follow from the bills before them. */
export async function oddDays(context: WalletContext): Promise<readonly string[]> {
  const { account, product, coin, from, to } = context.selection;
  const { rows } = await context.tx.execute<{ day: string }>(sql`
    select to_char(day, 'YYYY-MM-DD') as day
    from chained_days
    where account = ${account}
      and wallet = ${product}
      and coin = ${coin}
      and day between ${from}::date and ${to}::date
      and (
        (own).roundings > 0
        or step_rounding <> 0
        or (own).differences is not null
        or step_difference <> 0
      )`);
  return rows.map(({ day }) => day);
}
