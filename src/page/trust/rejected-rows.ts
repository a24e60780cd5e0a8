import { sql } from "drizzle-orm";
import type { EpochMs } from "../../contract/time.ts";
import type { Transaction } from "../../db/connect.ts";
import { withDatabaseErrors } from "../../db/database-errors.ts";
import { textArray } from "../../db/sql/array-literal.ts";
import { msOf, timeFrom } from "../../db/sql/time-text.ts";
import { formatCount } from "../../terminal/format.ts";
import { timeTag } from "../format.ts";
import { type Html, html } from "../html.ts";
import type { Facts } from "./facts.ts";

const shownMax = 10;

type RejectedRow = {
  readonly account: string;
  readonly productType: string;
  readonly digest: string;
  readonly billId: string | null;
  readonly faultPath: string;
  readonly fault: string;
  readonly rejectedAt: EpochMs;
};

/** The newest rows that were not as the API describes, and how to read or accept them; empty if none. */
export async function rejectedRows(
  tx: Transaction,
  { streams, demoAccounts }: Facts,
): Promise<Html> {
  const count = streams.reduce((sum, { rejected }) => sum + rejected, 0);
  if (count === 0) return html``;
  const productTypes = new Set(streams.map(({ stream }) => stream.productType));
  const rows = await readNewest(tx, [...productTypes], [...demoAccounts]);
  const more = count - rows.length;
  const digests = rows.map(({ digest }) => digest).join(",");
  return html`<h3>Rejected rows</h3>
<p>They are in the table <code>rejected_bills</code> as they came. A newer version may read them; a row that stays may be accepted as it is.</p>
<pre tabindex="0">npm run sync
npm run breaks -- accept ${digests} --note "why"</pre>
<table class="runs stacked">
<thead><tr><th scope="col">Rejected</th><th scope="col">Ledger</th><th scope="col">Bill</th><th scope="col">Why</th></tr></thead>
<tbody>${rows.map(rowOf)}</tbody></table>
${more > 0 ? html`<p class="remark">and ${formatCount(more)} more, in the table <code>rejected_bills</code></p>` : ""}`;
}

const rowOf = (row: RejectedRow): Html => html`
<tr><th scope="row">${timeTag(row.rejectedAt)}</th><td data-name="Ledger"><span class="account">${row.account}</span> <span class="product">${row.productType}</span></td>
<td data-name="Bill">${row.billId ?? "its id cannot be read"}</td><td class="why"><code>${row.faultPath}</code>: ${row.fault}</td></tr>`;

async function readNewest(
  tx: Transaction,
  productTypes: readonly string[],
  demoAccounts: readonly string[],
): Promise<readonly RejectedRow[]> {
  const { rows } = await withDatabaseErrors(() =>
    tx.execute<Omit<RejectedRow, "rejectedAt"> & { readonly ms: string }>(sql`
      select
        account,
        product_type as "productType",
        digest,
        bill_id as "billId",
        fault_path as "faultPath",
        fault,
        ${msOf(sql`rejected_at`)} as ms
      from rejected_bills
      where resolved_at is null
        and product_type = any(${textArray(productTypes)}::text[])
        and account <> all(${textArray(demoAccounts)}::text[])
      order by rejected_at desc, digest
      limit ${shownMax}`),
  );
  return rows.map(({ ms, ...row }) => ({ ...row, rejectedAt: timeFrom(ms) }));
}
