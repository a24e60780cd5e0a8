import { sql } from "drizzle-orm";
import { isoTime } from "../../lib/time.ts";
import type { Transaction } from "../postgres/connect.ts";
import { multirangeText, textArray } from "../postgres/values.ts";
import type { LedgerPlan } from "../words/ledger.ts";
import { openWindows, setFirstUnread } from "./record-time.ts";

/** Replaces the open windows of an account's ledgers by those of their plans, and records what became lost. */
export async function recordPlans(
  tx: Transaction,
  account: string,
  plans: readonly LedgerPlan[],
): Promise<void> {
  const productTypes = plans.map(({ ledger }) => ledger.productType);
  const column = (pick: (plan: LedgerPlan) => string) => textArray(plans.map(pick));
  const kept = ({ uncoverFrom }: LedgerPlan) =>
    `{(,${uncoverFrom === undefined ? "" : isoTime(uncoverFrom)})}`;
  const windowsOf = ({ windows }: LedgerPlan) => windows.map(({ window }) => window);
  // Sent together; the server executes them in this order.
  await Promise.all([
    tx.execute(sql`
    insert into ledgers (account, product_type)
    select ${account}, product_type
    from unnest(${textArray(productTypes)}::text[]) as planned (product_type)
    on conflict (account, product_type) do nothing`),
    tx.execute(sql`
    update ledgers
    set
      covered = covered * plan.kept,
      lost = ledgers.lost + plan.lost,
      open = plan.open,
      planned_at = plan.planned_at,
      planned_clock = statement_timestamp()
    from unnest(
      ${textArray(productTypes)}::text[],
      ${column(kept)}::tstzmultirange[],
      ${column(({ lost }) => multirangeText(lost))}::tstzmultirange[],
      ${column((plan) => multirangeText(windowsOf(plan)))}::tstzmultirange[],
      ${column(({ plannedAt }) => isoTime(plannedAt))}::timestamptz[]
    ) as plan (product_type, kept, lost, open, planned_at)
    where account = ${account}
      and ledgers.product_type = plan.product_type`),
    tx.execute(setFirstUnread(account, productTypes)),
    tx.execute(sql`
    delete from windows
    where account = ${account}
      and product_type = any(${textArray(productTypes)}::text[])`),
    tx.execute(
      openWindows(
        account,
        plans.flatMap(({ ledger, windows }) =>
          windows.map((planned) => ({ ...ledger, ...planned })),
        ),
      ),
    ),
  ]);
}
