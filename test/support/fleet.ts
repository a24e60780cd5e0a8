import { sql } from "drizzle-orm";
import type { ProductType } from "../../src/contract/product-types.ts";
import { dayMs, epochMs, isoTime } from "../../src/contract/time.ts";
import type { Database } from "../../src/db/connect.ts";
import { textArray } from "../../src/db/sql/array-literal.ts";

/** As if an earlier run had read the time of all of these accounts. */
export async function coverUpTo(
  db: Database,
  accounts: readonly string[],
  productType: ProductType,
  to: number,
): Promise<void> {
  const [from, until] = [isoTime(epochMs(to - 90 * dayMs)), isoTime(epochMs(to))];
  await db.execute(sql`
    insert into streams (account, product_type, covered, lost, open, settled_to)
    select
      account, ${productType},
      tstzmultirange(tstzrange(${from}::timestamptz, ${until}::timestamptz)), '{}', '{}', ${until}
    from unnest(${textArray(accounts)}::text[]) as wanted (account)`);
}
