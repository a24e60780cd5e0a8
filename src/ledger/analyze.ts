import { sql } from "drizzle-orm";
import type { Database } from "../db/connect.ts";
import { textArray } from "../db/values.ts";

const grownTables = ["bills", "bill_order", "type_days", "symbol_days", "day_ends"];
const grownRows = 1_000;

/**
 * Refreshes what the planner knows of tables that have grown by a tenth. Autovacuum does the same up to a minute later: until
 * then, the page of a first sync of three years took more than a minute, and 0.4 s afterwards.
 */
export async function analyzeGrown(db: Database): Promise<void> {
  const { rows } = await db.execute<{ name: string }>(sql`
    select relname as name
    from pg_stat_user_tables
    where schemaname = 'public'
      and relname = any(${textArray(grownTables)}::text[])
      and n_mod_since_analyze > ${grownRows} + n_live_tup / 10`);
  if (rows.length === 0) return;
  const names = rows.map(({ name }) => sql.identifier(name));
  await db.execute(sql`analyze (skip_locked) ${sql.join(names, sql`, `)}`);
}
