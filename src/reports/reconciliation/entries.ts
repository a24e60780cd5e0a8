import { type SQL, sql } from "drizzle-orm";
import { textArray } from "../../db/array-literal.ts";
import type { Transaction } from "../../db/connect.ts";
import type { WalletRule } from "./wallet-rules.ts";

/** Which ledgers are reconciled. */
export type Scope = {
  /** Undefined for all that are stored. */
  readonly accounts: readonly string[] | undefined;
  readonly productTypes: readonly string[] | undefined;
};

/** All bills of a scope, or those of `chains_to_check` only. */
export type Checked = Scope | "changed";

/** Bills, each with what it moves the wallet by: parts of a statement. */
export type Entries = {
  /** The bills, each beside what is odd about its kind. */
  readonly from: SQL;
  readonly where: SQL;
  readonly moved: SQL;
  /** The bills alone. */
  readonly bills: SQL;
};

export const within = (name: string, values: readonly string[] | undefined): SQL =>
  values === undefined ? sql`true` : sql`${sql.raw(name)} = any(${textArray(values)}::text[])`;

const ofScope = ({ accounts, productTypes }: Scope): SQL => sql`
      ${within("bills.account", accounts)}
      and ${within("bills.product_type", productTypes)}`;

// A transaction that was under way while the last check looked may have stored bills since, with
// times before it. None lasts longer than the limit on its statements.
const underWayMax = sql`interval '10 minutes'`;

/**
 * Where to begin in each chain that changed since it was last checked: with the last balance
 * before the oldest bill that was stored since, or before the place that a restated one left.
 */
export async function chooseChanged(tx: Transaction, scope: Scope): Promise<void> {
  await tx.execute(sql`
    create temporary table chains_to_check on commit drop as
    with touched as (
      select account, product_type, coin, c_time, ingested_at as touched_at
      from bills
      where ${ofScope(scope)}
      union all
      select account, product_type, coin, c_time, replaced_at
      from bill_revisions as bills
      where ${ofScope(scope)}
    ),
    changed as (
      select
        account,
        product_type,
        coin,
        case
          when bool_or(ingested_before is null) then '-infinity'
          else min(c_time)
        end as oldest
      from touched
      left join reconciled_chains using (account, product_type, coin)
      where ingested_before is null
        or touched_at >= ingested_before - ${underWayMax}
      group by account, product_type, coin
    )
    select
      account,
      product_type,
      coin,
      coalesce(
        (
          select c_time
          from bills
          where bills.account = changed.account
            and bills.product_type = changed.product_type
            and bills.coin = changed.coin
            and bills.c_time < changed.oldest
            and balance is not null
          order by bills.c_time desc
          limit 1
        ),
        '-infinity'
      ) as since
    from changed`);
  await tx.execute(sql`analyze chains_to_check`);
}

/**
 * What was completely read of each stream, in `covered_streams`. Bills behind its end are those
 * that may still be joined by late ones: what does not follow there is not judged yet.
 */
export async function collectCoverage(tx: Transaction): Promise<void> {
  await tx.execute(sql`
    create temporary table covered_streams on commit drop as
    select
      account,
      product_type,
      range_agg(tstzrange(window_start, window_end)) as time,
      max(window_end) as settled_to
    from checkpoints
    where state = 'complete'
    group by account, product_type`);
}

type Exception = {
  readonly account: string;
  readonly product_type: string;
  readonly business_type: string;
  readonly counts_amount: boolean;
  readonly counts_fee: boolean;
  readonly counts_coupon: boolean;
};

const exceptionNames = [
  "account",
  "product_type",
  "business_type",
  "counts_amount",
  "counts_fee",
  "counts_coupon",
] as const;

/**
 * Nearly all bills move the wallet by amount and fee. The kinds that do not are listed in the
 * statement itself: joined from their tables, which are temporary or small, they would keep
 * Postgres from sorting the bills in parallel, and cost as much as the rest.
 */
export async function entriesOf(tx: Transaction, checked: Checked): Promise<Entries> {
  const exceptions = await readExceptions(tx);
  const columns = exceptionNames.map((name) =>
    textArray(exceptions.map((exception) => String(exception[name]))),
  );
  const types = exceptionNames.map((name) => (name.startsWith("counts") ? "boolean" : "text"));
  const bills =
    checked === "changed"
      ? sql`
      from chains_to_check
      join bills
        on bills.account = chains_to_check.account
        and bills.product_type = chains_to_check.product_type
        and bills.coin = chains_to_check.coin
        and bills.c_time >= chains_to_check.since`
      : sql`
      from bills`;
  return {
    bills,
    from: sql`${bills}
      left join unnest(
        ${sql.join(
          columns.map((column, index) => sql`${column}::${sql.raw(types[index] ?? "text")}[]`),
          sql`, `,
        )}
      ) as exceptions (${sql.raw(exceptionNames.join(", "))})
        on exceptions.account = bills.account
        and exceptions.product_type = bills.product_type
        and exceptions.business_type = bills.business_type`,
    where: checked === "changed" ? sql`true` : ofScope(checked),
    moved: sql`
        case
          when exceptions.counts_amount is null then amount + fee
          else
            case when exceptions.counts_amount then amount else 0 end
            + case when exceptions.counts_fee then fee else 0 end
            + case when exceptions.counts_coupon then coalesce(fee_by_coupon, 0) else 0 end
        end`,
  };
}

async function readExceptions(tx: Transaction): Promise<readonly Exception[]> {
  const { rows } = await tx.execute<Exception>(sql`
    with streams as (
      select distinct account, product_type
      from checkpoints
      union
      select account, product_type
      from wallet_rules
    ),
    rules as (
      select
        streams.account,
        streams.product_type,
        business_types.code as business_type,
        coalesce(counts_amount, business_types.category <> 'margin') as counts_amount,
        coalesce(counts_fee, business_types.category <> 'margin') as counts_fee,
        coalesce(counts_coupon, false) as counts_coupon
      from streams
      cross join business_types
      left join wallet_rules using (account, product_type, category)
    )
    select account, product_type, business_type, counts_amount, counts_fee, counts_coupon
    from rules
    where (counts_amount, counts_fee, counts_coupon) <> (true, true, false)
    order by account, product_type, business_type`);
  return rows;
}

/** What a bill that is joined to its business type and wallet rule moves the wallet by. */
export const movedByRule: SQL = sql`(
  case when coalesce(counts_amount, business_types.category is distinct from 'margin') then amount else 0 end
  + case when coalesce(counts_fee, business_types.category is distinct from 'margin') then fee else 0 end
  + case when counts_coupon then coalesce(fee_by_coupon, 0) else 0 end
)`;

/** What a bill would move the wallet by under a rule. */
export function movedBy({ countsAmount, countsFee, countsCoupon }: WalletRule): SQL {
  const parts = [
    ...(countsAmount ? [sql`amount`] : []),
    ...(countsFee ? [sql`fee`] : []),
    ...(countsCoupon ? [sql`coalesce(fee_by_coupon, 0)`] : []),
  ];
  return parts.length === 0 ? sql`0` : sql`(${sql.join(parts, sql` + `)})`;
}
