import { sql } from "drizzle-orm";
import { dayMs, type EpochMs, epochMs, isoTime } from "../../contract/time.ts";
import { productTypesOf } from "../../db/sql/wallet.ts";
import type { WalletContext } from "../section.ts";
import type { Stretch } from "./wallet-days.ts";

/** How far reconcile has checked that the balances of some days follow from their bills. */
export type Judged =
  | { readonly state: "never" }
  /** Some of their bills were stored or restated after the check, or what bills mean was changed. */
  | { readonly state: "outdated" }
  /** Every bill before this time was checked. */
  | { readonly state: "checked"; readonly through: EpochMs };

export async function judgedOf(
  context: WalletContext,
  days: Pick<Stretch, "from" | "to">,
): Promise<Judged> {
  const { chain } = context;
  const from = Date.parse(days.from);
  const end = Date.parse(days.to) + dayMs;
  if (chain?.through === undefined || chain.through <= from) return { state: "never" };
  const through = epochMs(Math.min(chain.through, end));
  const isOutdated =
    chain.isOutdated ||
    (chain.billsSince > 0 && (await hasNewBills(context, epochMs(from), through)));
  return isOutdated ? { state: "outdated" } : { state: "checked", through };
}

/** Whether any bill of this time was stored or restated since the last check. */
async function hasNewBills(
  { tx, selection: { account, product, coin }, chain }: WalletContext,
  from: EpochMs,
  to: EpochMs,
): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    select 1
    from (values (${product}::text)) as own (wallet)
    join bills
      on account = ${account}
      and product_type = any(${productTypesOf("own.wallet")})
      and coin = ${coin}
    where ingested_at >= ${isoTime(chain?.at ?? to)}::timestamptz
      and c_time >= ${isoTime(from)}::timestamptz
      and c_time < ${isoTime(to)}::timestamptz
    limit 1`);
  return rows.length > 0;
}
