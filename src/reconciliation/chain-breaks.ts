import { type SQL, sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { unlearnedOrder } from "../db/sql/chain-order.ts";
import { timeText } from "../db/sql/time-text.ts";
import { productTypesOf } from "../db/sql/wallet.ts";
import { type AccountScope, timeBetween } from "./bills-to-check.ts";
import type { BreakKind, FoundBreak } from "./breaks.ts";
import { lastPlace } from "./rule-evidence.ts";

type Row = {
  readonly account: string;
  readonly wallet: string;
  readonly product_type: string;
  readonly coin: string;
  readonly bill_id: string;
  readonly anchor: string;
  readonly base_bill_id: string | null;
  readonly base_product_type: string | null;
  readonly happened_at: string;
  readonly expected: string;
  readonly balance: string;
  readonly residual: string;
  readonly is_small: boolean;
  readonly is_undone: boolean;
  readonly is_undoing: boolean;
  readonly double_bill_id: string | null;
  readonly twin_bill_id: string | null;
  readonly is_fee_sign: boolean;
  readonly unread_from: string | null;
  readonly unread_to: string | null;
  readonly rejected_digest: string | null;
  readonly rejected_bill_id: string | null;
  readonly rejected_fault: string | null;
};

// The product types of the wallet of `linked`.
const members = productTypesOf("linked.wallet");

const isZero = (difference: SQL): SQL => sql`abs(${difference}) <= ${lastPlace}`;

/**
 * Whether a balance is off that is not a known break. Only a check of all bills can tell whether it is a
 * new break, or shows another rule or a habit of rounding.
 */
export async function isAnythingNew(tx: Transaction, { account }: AccountScope): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    select 1
    from residuals
    join checked_chains using (account, wallet, coin)
    left join covered_wallets using (account, wallet)
    where not (is_small and does_round)
      and (settled_to is null or c_time < settled_to)
      and not exists (
        select 1
        from ledger_breaks
        where ledger_breaks.account = ${account}
          and ledger_breaks.product_type = residuals.wallet
          and ledger_breaks.coin = residuals.coin
          and ledger_breaks.anchor = residuals.anchor
          and ledger_breaks.difference = residuals.residual
      )
    limit 1`);
  return rows.length > 0;
}

/** The bills whose balance does not follow, with what the data can say about why. */
export async function findChainBreaks(
  tx: Transaction,
  { account }: AccountScope,
): Promise<readonly FoundBreak[]> {
  const { rows } = await tx.execute<Row>(sql`
    with linked as (
      select
        residuals.*,
        abs(lead(residual) over chain + residual)
            <= (steps + lead(steps) over chain) * ${lastPlace}
          and not is_small
          and not lead(is_small) over chain
          and lead(base_bill_id) over chain = bill_id
          and lead(base_product_type) over chain = product_type as is_undone,
        abs(lag(residual) over chain + residual)
            <= (steps + lag(steps) over chain) * ${lastPlace}
          and not is_small
          and not lag(is_small) over chain
          and base_bill_id = lag(bill_id) over chain
          and base_product_type = lag(product_type) over chain as is_undoing
      from residuals
      window chain as (partition by account, wallet, coin order by position)
    )
    select
      linked.account,
      linked.wallet,
      linked.product_type,
      linked.coin,
      linked.bill_id,
      anchor,
      base_bill_id,
      base_product_type,
      ${timeText(sql`linked.c_time`)} as happened_at,
      linked.expected::text,
      linked.balance::text,
      residual::text,
      is_small,
      coalesce(is_undone, false) as is_undone,
      coalesce(is_undoing, false) as is_undoing,
      doubled.bill_id as double_bill_id,
      doubled.twin_bill_id,
      abs(linked.fee) > ${lastPlace}
        and ${isZero(sql`linked.residual + 2 * linked.fee`)} as is_fee_sign,
      ${timeText(sql`lower(unread.time)`)} as unread_from,
      ${timeText(sql`upper(unread.time)`)} as unread_to,
      rejected.digest as rejected_digest,
      rejected.bill_id as rejected_bill_id,
      rejected.fault as rejected_fault
    from linked
    join checked_chains using (account, wallet, coin)
    left join bills as base
      on base.account = ${account}
      and base.product_type = linked.base_product_type
      and base.bill_id = linked.base_bill_id
    left join covered_wallets as covered
      on covered.account = linked.account
      and covered.wallet = linked.wallet
    cross join lateral (
      select ${timeBetween("base.c_time", "linked.c_time", "linked.wallet")} as time
    ) as between_them
    left join lateral (
      select bill.bill_id, twin.bill_id as twin_bill_id
      from bills as bill
      join bills as twin
        on twin.account = ${account}
        and twin.product_type = any(${members})
        and twin.c_time = bill.c_time
        and twin.coin = bill.coin
        and twin.amount = bill.amount
        and twin.fee = bill.fee
        and twin.balance is not distinct from bill.balance
        and twin.business_type = bill.business_type
        and (twin.product_type, twin.bill_id) <> (bill.product_type, bill.bill_id)
      where bill.account = ${account}
        and bill.product_type = any(${members})
        and bill.coin = linked.coin
        -- Not <@, which no index serves: each break would read its whole chain.
        and bill.c_time between lower(between_them.time) and upper(between_them.time)
        and (
          (bill.product_type, bill.bill_id) = (linked.product_type, linked.bill_id)
          or bill.balance is null
        )
        and not linked.is_small
        and ${isZero(sql`linked.residual + bill.amount + bill.fee`)}
      order by ${unlearnedOrder("bill")}
      limit 1
    ) as doubled on true
    -- A rejected row that lies between the two bills, by its time or by its id.
    left join lateral (
      select digest, rejected_bills.bill_id, fault_path || ': ' || fault as fault
      from rejected_bills
      where rejected_bills.account = ${account}
        and rejected_bills.product_type = any(${members})
        and not linked.is_small
        and not exists (
          select 1
          from bills
          where bills.account = ${account}
            and bills.product_type = rejected_bills.product_type
            and bills.bill_id = rejected_bills.bill_id
        )
        and (
          substring(received from '"(?:cTime|ts)"\\s*:\\s*"?(\\d{13})\\M')::bigint
            between date_part('epoch', lower(between_them.time)) * 1000
            and date_part('epoch', upper(between_them.time)) * 1000
          or (length(rejected_bills.bill_id), rejected_bills.bill_id)
            between (length(base.bill_id), base.bill_id)
            and (length(linked.bill_id), linked.bill_id)
        )
      order by length(rejected_bills.bill_id), rejected_bills.bill_id, digest
      limit 1
    ) as rejected on true
    cross join lateral (
      select
        tstzmultirange(between_them.time)
          - coalesce(covered.time, tstzmultirange()) as time
    ) as unread
    where is_testable
      and (settled_to is null or linked.c_time < settled_to)
      and (shared_from is null or base.c_time >= shared_from)
      and (not is_small or not does_round)
    order by linked.account, linked.wallet, linked.coin, position`);
  return rows.filter(({ is_undoing }) => !is_undoing).map(toBreak);
}

function toBreak(row: Row): FoundBreak {
  const { kind, explanation } = judge(row);
  return {
    kind,
    account: row.account,
    productType: row.wallet,
    coin: row.coin,
    anchor: row.anchor,
    happenedAt: row.happened_at,
    expected: row.expected,
    observed: row.balance,
    difference: row.residual,
    firstBadBill: row.bill_id,
    firstBadProductType: row.product_type === row.wallet ? null : row.product_type,
    lastGoodBill: row.base_bill_id,
    lastGoodProductType: row.base_product_type === row.wallet ? null : row.base_product_type,
    explanation: explanation + besideRejected(row),
  };
}

const digestShown = 12;

/** Names the rejected row that may be the missing bill. */
function besideRejected({ rejected_digest, rejected_bill_id, rejected_fault }: Row): string {
  if (rejected_digest === null) return "";
  const what = rejected_bill_id === null ? "" : `bill ${rejected_bill_id}, `;
  return (
    `; a row of rejected_bills lies between the two bills (${what}digest ` +
    `${rejected_digest.slice(0, digestShown)}…, ${rejected_fault}): replay may store it`
  );
}

function judge(row: Row): { readonly kind: BreakKind; readonly explanation: string } {
  if (row.unread_from !== null) {
    return {
      kind: "unread",
      explanation: `not all time between the two bills was read: ${row.unread_from} to ${row.unread_to}`,
    };
  }
  if (row.is_undone) {
    return {
      kind: "balance",
      explanation: "this bill's balance is wrong; the next one is right again",
    };
  }
  if (row.double_bill_id !== null) {
    return {
      kind: "duplicate",
      explanation: `bills ${row.double_bill_id} and ${row.twin_bill_id} are equal except for their ids`,
    };
  }
  if (row.is_fee_sign) {
    return { kind: "fee-sign", explanation: "the balance is right if the fee's sign is reversed" };
  }
  if (row.is_small) {
    return {
      kind: "rounding",
      explanation: "off by one unit in the last place; the other balances of this ledger are exact",
    };
  }
  return {
    kind: "chain",
    explanation:
      `either bills totalling ${row.residual} are missing before this one, ` +
      `or bills totalling ${negated(row.residual)} before it do not belong there, ` +
      "or the amount, the fee or the balance of this one is wrong by as much",
  };
}

const negated = (decimal: string): string =>
  decimal.startsWith("-") ? decimal.slice(1) : `-${decimal}`;
