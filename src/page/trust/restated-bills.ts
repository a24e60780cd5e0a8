import { sql } from "drizzle-orm";
import type { EpochMs } from "../../contract/time.ts";
import type { Transaction } from "../../db/connect.ts";
import { withDatabaseErrors } from "../../db/database-errors.ts";
import { msOf, timeFrom } from "../../db/sql/time-text.ts";
import type { Break } from "../../reconciliation/breaks.ts";
import { asWritten, timeTag } from "../format.ts";
import { type Html, html } from "../html.ts";

/** A field of a bill that was served again with another content. */
export type RestatedField = {
  readonly billId: string;
  readonly replacedAt: EpochMs;
  readonly field: string;
  readonly was: string | null;
  readonly now: string | null;
};

const shownMax = 20;

const fields = ["c_time", "symbol", "business_type", "coin", "amount", "fee", "balance"];

/** What changed of the bills that a restatement is about, newest first. */
export async function readRestatedFields(
  tx: Transaction,
  { account, productType, happenedAt }: Break,
): Promise<readonly RestatedField[]> {
  const pairs = fields.map(
    (field) =>
      sql`(${field}::text, replaced.${sql.identifier(field)}::text, bills.${sql.identifier(field)}::text)`,
  );
  const { rows } = await withDatabaseErrors(() =>
    tx.execute<Omit<RestatedField, "replacedAt"> & { readonly ms: string }>(sql`
      select
        bill_id as "billId",
        ${msOf(sql`replaced_at`)} as ms,
        field,
        was,
        now
      from bill_revisions as replaced
      join bills using (account, product_type, bill_id)
      cross join lateral (values ${sql.join(pairs, sql`, `)}) as pairs (field, was, now)
      where account = ${account}
        and product_type = ${productType}
        and replaced_at >= ${happenedAt}::timestamptz
        and was is distinct from now
      order by replaced_at desc, bill_id, field
      limit ${shownMax}`),
  );
  return rows.map(({ ms, ...row }) => ({ ...row, replacedAt: timeFrom(ms) }));
}

export const restatedTable = (breakId: number, changes: readonly RestatedField[]): Html => html`
<div class="scroll" tabindex="0" role="region" aria-label="What was changed, break #${breakId}">
<table class="bills compact">
<thead><tr><th scope="col">Bill</th><th scope="col">Changed</th><th scope="col">Field</th><th scope="col" class="figure">Before</th><th scope="col" class="figure">Now</th></tr></thead>
<tbody>${changes.map(
  ({ billId, replacedAt, field, was, now }) => html`
<tr><th scope="row">${billId}</th><td>${timeTag(replacedAt)}</td><td>${field}</td><td class="figure" data-name="Before">${textOf(was)}</td><td class="figure main">${textOf(now)}</td></tr>`,
)}</tbody>
</table></div>`;

const textOf = (value: string | null): string => (value === null ? "none" : asWritten(value));
