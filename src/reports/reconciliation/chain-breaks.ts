import { sql } from "drizzle-orm";
import type { Transaction } from "../../db/connect.ts";
import type { BreakKind, FoundBreak } from "./breaks.ts";
import { lastPlace } from "./learn.ts";

type Row = {
  readonly account: string;
  readonly product_type: string;
  readonly coin: string;
  readonly bill_id: string;
  readonly base_bill_id: string | null;
  readonly happened_at: string;
  readonly expected: string;
  readonly balance: string;
  readonly residual: string;
  readonly is_small: boolean;
  readonly is_undone: boolean;
  readonly is_undoing: boolean;
  readonly is_double: boolean;
  readonly is_fee_sign: boolean;
  readonly unread_from: string | null;
  readonly unread_to: string | null;
};

// A ledger that rounds does so in one bill of five; one bill in a hundred is no habit.
const roundingShareMin = sql.raw("0.01");
const roundingMin = 3;

const iso = (column: string) =>
  sql`to_char(${sql.raw(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** The bills whose balance does not follow, with what the data can say about why. */
export async function findChainBreaks(tx: Transaction): Promise<readonly FoundBreak[]> {
  const { rows } = await tx.execute<Row>(sql`
    with habits as (
      select
        account,
        product_type,
        coin,
        tested > 0
          and rounded >= ${roundingMin}
          and rounded >= tested * ${roundingShareMin} as does_round
      from checked_chains
    ),
    linked as (
      select
        residuals.*,
        lead(residual) over chain = -residual
          and lead(base_bill_id) over chain = bill_id as is_undone,
        lag(residual) over chain = -residual
          and base_bill_id = lag(bill_id) over chain as is_undoing
      from residuals
      window chain as (partition by account, product_type, coin order by position)
    )
    select
      linked.account,
      linked.product_type,
      linked.coin,
      linked.bill_id,
      base_bill_id,
      ${iso("linked.c_time")} as happened_at,
      linked.expected::text,
      linked.balance::text,
      residual::text,
      abs(residual) <= ${lastPlace} as is_small,
      coalesce(is_undone, false) as is_undone,
      coalesce(is_undoing, false) as is_undoing,
      linked.residual = -linked.moved
        and exists (
          select 1
          from bills as twin
          where twin.account = linked.account
            and twin.product_type = linked.product_type
            and twin.c_time = linked.c_time
            and twin.coin = linked.coin
            and twin.bill_id <> linked.bill_id
            and twin.amount = linked.amount
            and twin.fee = linked.fee
            and twin.balance = linked.balance
            and twin.business_type = linked.business_type
        ) as is_double,
      linked.fee <> 0 and linked.residual = -2 * linked.fee as is_fee_sign,
      ${iso("unread.unread_from")} as unread_from,
      ${iso("unread.unread_to")} as unread_to
    from linked
    join habits using (account, product_type, coin)
    left join bills as base
      on base.account = linked.account
      and base.product_type = linked.product_type
      and base.bill_id = linked.base_bill_id
    left join lateral (
      select min(covered_from) as unread_from, max(covered_to) as unread_to
      from analytics.coverage
      where coverage.account = linked.account
        and coverage.product_type = linked.product_type
        and coverage.state <> 'complete'
        and coverage.covered_from <= linked.c_time
        and coverage.covered_to > base.c_time
    ) as unread on true
    where is_testable
      and (abs(residual) > ${lastPlace} or not does_round)
    order by linked.account, linked.product_type, linked.coin, position`);
  return rows.filter(({ is_undoing }) => !is_undoing).map(toBreak);
}

function toBreak(row: Row): FoundBreak {
  const { kind, explanation } = judge(row);
  return {
    kind,
    account: row.account,
    productType: row.product_type,
    coin: row.coin,
    anchor: row.bill_id,
    happenedAt: row.happened_at,
    expected: row.expected,
    observed: row.balance,
    difference: row.residual,
    firstBadBill: row.bill_id,
    lastGoodBill: row.base_bill_id,
    explanation,
  };
}

function judge(row: Row): { readonly kind: BreakKind; readonly explanation: string } {
  if (row.unread_from !== null) {
    return {
      kind: "unread",
      explanation: `time between the two bills was not read: ${row.unread_from} to ${row.unread_to}`,
    };
  }
  if (row.is_undone) {
    return { kind: "balance", explanation: "this bill's balance is off; the next one is right" };
  }
  if (row.is_double) {
    return { kind: "duplicate", explanation: "an equal bill of another id is in its millisecond" };
  }
  if (row.is_fee_sign) {
    return { kind: "fee-sign", explanation: "it adds up if the fee's sign is the other one" };
  }
  if (row.is_small) {
    return { kind: "rounding", explanation: "one unit in the last place, in a ledger without" };
  }
  return {
    kind: "chain",
    explanation: `bills of ${row.residual} are missing before it, or it is off by as much itself`,
  };
}
