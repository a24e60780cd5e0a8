import { sql } from "drizzle-orm";
import { walletOf } from "../../core/contract/product-types.ts";
import type { Transaction } from "../../core/postgres/connect.ts";
import { msOf, textArray, timeFrom } from "../../core/postgres/values.ts";
import type { Interval } from "../../core/words/intervals.ts";
import { add, decimalOf, zero } from "../../lib/decimal.ts";
import { type Columns, fields, type Table, table } from "../../output/result.ts";
import { ledgerName } from "../../output/text.ts";
import { isWithin } from "../export/reported-wallets.ts";
import type { LedgerClose, Leg } from "./close-report.ts";
import { limited, money } from "./figures.ts";

/** The transfers, deposits and withdrawals of a period, by time. Legs of two accounts are paired where several accounts are asked for. */
export async function readFlows(
  tx: Transaction,
  accounts: readonly string[],
  span: Interval,
): Promise<readonly Leg[]> {
  const { rows } = await tx.execute<Omit<Leg, "time"> & { readonly time: string }>(sql`
    -- This view reads the transfers of all accounts that are stored.
    with between_accounts as materialized (
      select *
      from analytics.transfers_between_accounts
      where ${accounts.length > 1}
    )
    select
      legs.account,
      legs.product_type as "productType",
      legs.bill_id as "billId",
      ${msOf(sql`legs.c_time`)} as time,
      legs.coin,
      legs.amount::text as amount,
      coalesce(legs.meaning, legs.business_type) as meaning,
      coalesce(
        sent.to_account,
        received.from_account,
        case when legs.state = 'paired' then legs.account end
      ) as "otherAccount",
      coalesce(sent.to_product_type, received.from_product_type, legs.counter_product_type) as "otherProductType",
      coalesce(sent.to_bill_id, received.from_bill_id, legs.counter_bill_id) as "otherBillId"
    from analytics.transfers as legs
    left join between_accounts as sent
      on sent.from_account = legs.account
      and sent.from_product_type = legs.product_type
      and sent.from_bill_id = legs.bill_id
    left join between_accounts as received
      on received.to_account = legs.account
      and received.to_product_type = legs.product_type
      and received.to_bill_id = legs.bill_id
    where legs.account = any(${textArray(accounts)}::text[])
      and ${isWithin(sql`legs.c_time`, span)}
      and legs.amount <> 0
    union all
    select
      account,
      product_type,
      bill_id,
      ${msOf(sql`c_time`)},
      coin,
      wallet_amount::text,
      coalesce(meaning, business_type),
      null,
      null,
      null
    from analytics.entries
    left join business_types on code = business_type
    where account = any(${textArray(accounts)}::text[])
      and ${isWithin(sql`c_time`, span)}
      and entries.category in ('deposit', 'withdrawal')
      and wallet_amount <> 0
    order by time, account, "productType", "billId"`);
  return rows.map((row) => ({ ...row, time: timeFrom(row.time) }));
}

/** For people, what went to and came from each other wallet; for programs, each leg. */
export function flowTables({ flows }: LedgerClose): readonly Table[] {
  const sums = [...Map.groupBy(flows, (leg) => `${leg.coin} ${whereOf(leg)}`)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, legs]) => legs);
  const sumOf = (legs: readonly Leg[]) =>
    legs.reduce((sum, { amount }) => add(sum, decimalOf(amount)), zero);
  const columns: Columns<readonly Leg[]> = {
    flows: { kind: "text", of: ([leg]) => leg && whereOf(leg) },
    coin: { kind: "text", of: ([leg]) => leg?.coin },
    bills: { kind: "count", of: ({ length }) => length },
    amount: { kind: "money", of: (legs) => money(sumOf(legs), legs[0]?.coin ?? "") },
  };
  return [limited(table("", columns, sums), "flows"), table("flows", legColumns, flows, [])];
}

const legColumns: Columns<Leg> = {
  ...fields<Leg>("time", ["time"]),
  ...fields<Leg>("text", ["productType", "billId", "coin", "amount", "meaning"]),
  ...fields<Leg>("text", ["otherAccount", "otherProductType", "otherBillId"]),
};

function whereOf({ amount, meaning, otherAccount, otherProductType }: Leg): string {
  if (otherAccount === null || otherProductType === null)
    return `${meaning}; the other side is not stored`;
  const other = ledgerName({ account: otherAccount, productType: walletOf(otherProductType) });
  return `${amount.startsWith("-") ? "to" : "from"} ${other}`;
}
