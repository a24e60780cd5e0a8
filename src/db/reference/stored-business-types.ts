import { sql } from "drizzle-orm";
import type { Category } from "../../contract/business-types.ts";
import { type Database, inTransaction } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { markTypes } from "../days/mark-days.ts";
import { holdMeanings } from "../days/meaning-turns.ts";

/** What a kind of bill is taken for. */
export type MappedType = {
  readonly code: string;
  /** The one that holds: the user's, else the listed one. */
  readonly category: string;
  /** What this program's list says; unknown where the code is not in it. */
  readonly listedCategory: string;
  readonly categoryByUser: string | null;
  readonly meaning: string;
};

/** All that are listed or were met, by category and code; those that nobody mapped come last. */
export function readMappedTypes(db: Database): Promise<readonly MappedType[]> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<MappedType>(sql`
      select
        code,
        category,
        listed_category as "listedCategory",
        category_by_user as "categoryByUser",
        meaning
      from business_types
      order by category = 'unknown', category, code`);
    return rows;
  });
}

/**
 * Maps a type, or takes the user's mapping back. The next reconcile looks at all bills: what they
 * move goes by their category.
 * @param category undefined to take it back.
 * @returns undefined where there is no such type.
 */
export function mapType(
  db: Database,
  code: string,
  category: Category | undefined,
): Promise<MappedType | undefined> {
  return withDatabaseErrors(() =>
    inTransaction(db, async (tx) => {
      await holdMeanings(tx, "all");
      const before = await tx.execute<{ category: string }>(
        sql`select category from business_types where code = ${code}`,
      );
      const { rows } = await tx.execute<MappedType>(sql`
        update business_types
        set
          category_by_user = ${category ?? null},
          category = coalesce(${category ?? null}, listed_category)
        where code = ${code}
        returning
          code,
          category,
          listed_category as "listedCategory",
          category_by_user as "categoryByUser",
          meaning`);
      if (rows.length > 0) {
        await tx.execute(sql`update reconciled_chains set ingested_before = '-infinity'`);
      }
      if (before.rows[0]?.category !== rows[0]?.category) {
        await markTypes(tx, [code]);
      }
      return rows[0];
    }),
  );
}
