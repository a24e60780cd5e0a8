import { type SQL, sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { timeText } from "../db/sql/time-text.ts";
import type { AccountScope } from "./bills-to-check.ts";
import type { FoundBreak } from "./breaks.ts";
import { findBreaks } from "./find-breaks.ts";
import { lastPlace } from "./rule-evidence.ts";

const snapshotBreaks = ({ account }: AccountScope, columns: SQL, isBroken: SQL): SQL => sql`
    with snapshots as (
      select
        account,
        risk_unit_id,
        taken_at,
        ltv,
        usdt_balance,
        unpaid_usdt_amount,
        (
          select sum(converted_usdt_amount)
          from ltv_collateral as part
          where part.account = ${account}
            and part.risk_unit_id = ltv_snapshots.risk_unit_id
            and part.taken_at = ltv_snapshots.taken_at
        ) as converted,
        (
          select count(*)
          from ltv_collateral as part
          where part.account = ${account}
            and part.risk_unit_id = ltv_snapshots.risk_unit_id
            and part.taken_at = ltv_snapshots.taken_at
        ) as coins
      from ltv_snapshots
      where account = ${account}
    )
    select
      account,
      concat_ws('/', nullif(risk_unit_id, ''), ${timeText(sql`taken_at`)}) as anchor,
      ${timeText(sql`taken_at`)} as "happenedAt",
      ${columns}
    from snapshots
    where ${isBroken}
    order by account, risk_unit_id, taken_at`;

/** Loan-to-value records whose own figures contradict each other. */
export async function findLoanToValueBreaks(
  tx: Transaction,
  scope: AccountScope,
): Promise<readonly FoundBreak[]> {
  const assets = snapshotBreaks(
    scope,
    sql`
      converted::text as expected,
      usdt_balance::text as observed,
      (usdt_balance - converted)::text as difference,
      'usdtBalance is not the sum of convertedUsdtAmount' as explanation`,
    sql`abs(usdt_balance - converted) > coins * ${lastPlace}`,
  );
  const ratio = snapshotBreaks(
    scope,
    sql`
      round(unpaid_usdt_amount / usdt_balance, scale(ltv) + 2)::text as expected,
      ltv::text as observed,
      (ltv - round(unpaid_usdt_amount / usdt_balance, scale(ltv) + 2))::text as difference,
      'ltv is not unpaidUsdtAmount / usdtBalance, to half a unit of its last place' as explanation`,
    sql`usdt_balance <> 0
      and abs(ltv - unpaid_usdt_amount / usdt_balance) > 0.5 * 10::numeric ^ -scale(ltv)`,
  );
  const haircut = sql`
    select
      account,
      coin,
      concat_ws('/', nullif(risk_unit_id, ''), ${timeText(sql`taken_at`)}) as anchor,
      ${timeText(sql`taken_at`)} as "happenedAt",
      (price * amount)::text as expected,
      converted_usdt_amount::text as observed,
      (converted_usdt_amount - price * amount)::text as difference,
      'convertedUsdtAmount is not between 0 and price x amount' as explanation
    from ltv_collateral
    where account = ${scope.account}
      and (converted_usdt_amount < 0 or converted_usdt_amount > price * amount + ${lastPlace})
    order by account, risk_unit_id, taken_at, coin`;
  return [
    ...(await findBreaks(tx, "ltv-assets", assets)),
    ...(await findBreaks(tx, "ltv-ratio", ratio)),
    ...(await findBreaks(tx, "ltv-haircut", haircut)),
  ];
}
