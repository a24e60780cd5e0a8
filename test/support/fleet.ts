import { sql } from "drizzle-orm";
import { enqueueAccounts } from "../../src/commands/worker.ts";
import type { ProductType } from "../../src/contract/product-types.ts";
import { dayMs, epochMs, isoTime } from "../../src/contract/time.ts";
import { type Database, openDatabase } from "../../src/db/connect.ts";
import { textArray } from "../../src/db/values.ts";
import { Queue } from "../../src/fleet/queue.ts";
import { readConfig } from "../../src/roster/config.ts";
import { Secret } from "../../src/secret.ts";

/** As if an earlier run had read the time of all of these accounts. */
export async function coverUpTo(
  db: Database,
  accounts: readonly string[],
  productType: ProductType,
  to: number,
): Promise<void> {
  const [from, until] = [isoTime(epochMs(to - 90 * dayMs)), isoTime(epochMs(to))];
  await db.execute(sql`
    insert into ledgers (account, product_type, covered, lost, open, first_unread_at)
    select
      account, ${productType},
      tstzmultirange(tstzrange(${from}::timestamptz, ${until}::timestamptz)), '{}', '{}', ${until}
    from unnest(${textArray(accounts)}::text[]) as wanted (account)`);
}

/** Queues every account once, as a worker's round does. */
export async function queueAccounts(env: Record<string, string>): Promise<string> {
  const config = readConfig(env, { credentials: false });
  const url = new Secret(env["DATABASE_URL"] ?? "");
  await using open = openDatabase(url.reveal());
  await using queue = await Queue.open({ url, supervises: false, onTrouble: () => undefined });
  return await enqueueAccounts(open.db, queue, config);
}
