import { sql } from "drizzle-orm";
import { textArray } from "../../db/sql/array-literal.ts";
import { onlyRow } from "../../db/sql/only-row.ts";
import type { BillFilter } from "../money/bill-links.ts";
import type { WalletContext } from "../section.ts";
import { isInTime, isOfChain, isOfWallet, isWanted, oddDays, partOf } from "./wanted-bills.ts";

/** What all bills of a figure add up to, however many are listed. */
export type BillSum = { readonly bills: number; readonly sum: string };

/** Reads every bill of the selected days: 100,000 take 0.2 s. */
export async function sumOfBills(context: WalletContext, filter: BillFilter): Promise<BillSum> {
  const [source, ofDays] = isOfChain(filter)
    ? [sql`activity`, sql`day = any(${textArray(await oddDays(context))}::date[])`]
    : [sql`entries`, isInTime(context)];
  const { rows } = await context.tx.execute<{ bills: string; sum: string }>(sql`
    select count(*) as bills, coalesce(sum(${partOf(filter.pieces)}), 0)::text as sum
    from analytics.${source}
    where ${isOfWallet(context)}
      and ${ofDays}
      and ${isWanted(filter)}`);
  const { bills, sum } = onlyRow(rows, "a figure's bills");
  return { bills: Number(bills), sum };
}
