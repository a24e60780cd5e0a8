import { eq, type SQL, sql } from "drizzle-orm";
import {
  type BusinessType,
  type Category,
  categoryOfWalletType,
} from "../../contract/business-types.ts";
import { listedBusinessTypes } from "../../contract/unified-business-types.ts";
import { type Database, inTransaction, type Transaction } from "../../postgres/connect.ts";
import { businessTypes } from "../../postgres/schema/schema.ts";
import { textArray } from "../../postgres/values.ts";
import type { PageCommit } from "../../words/page.ts";

/** A business type, and the category that it counts as. */
export type MappedType = typeof businessTypes.$inferSelect;

/**
 * All types that are listed or were met, by category and code. Types without a category come last. A page that
 * brings an unknown type adds it in its own transaction (upsert-bills.ts).
 */
export function readMappedTypes(db: Database): Promise<readonly MappedType[]> {
  const { category, code } = businessTypes;
  return db.select().from(businessTypes).orderBy(sql`${category} = 'unclassified'`, category, code);
}

/**
 * Maps a type, or takes the user's mapping back. The next reconcile checks all bills again, since a
 * bill's category decides what it moves.
 * @param category undefined to take it back.
 * @returns undefined where there is no such type.
 */
export function mapType(
  db: Database,
  code: string,
  category: Category | undefined,
): Promise<MappedType | undefined> {
  return inTransaction(db, async (tx) => {
    const { listedCategory } = businessTypes;
    const [mapped] = await tx
      .update(businessTypes)
      .set({
        categoryByUser: category ?? null,
        category: category ?? listedCategory,
        changedAt: changedAt(category === undefined ? sql`${listedCategory}` : sql`${category}`),
      })
      .where(eq(businessTypes.code, code))
      .returning();
    if (mapped !== undefined) await checkAllAgain(tx);
    return mapped;
  });
}

const checkAllAgain = (tx: Transaction) =>
  tx.execute(sql`update reconciled_chains set checked_before = '-infinity'`);

/** When a type's category changed, if it becomes this one. */
const changedAt = (category: SQL): SQL => sql`
  case
    when business_types.category = ${category} then business_types.changed_at
    else transaction_timestamp()
  end`;

const records = (types: readonly BusinessType[]): SQL => sql`
  jsonb_to_recordset(${JSON.stringify(types)}::jsonb) as listed (code text, category text, meaning text)`;

/** A type that is in no list, as it is stored. */
function unlisted(code: string): BusinessType {
  const category = categoryOfWalletType(code);
  const meaning =
    category === "unclassified"
      ? "met in the ledger, not known to this program"
      : code.replaceAll("/", ": ");
  return { code, category, meaning };
}

/**
 * Stores the program's list of business types as a table for queries, and what it says now of a wallet's types that were
 * met. Other codes that were met stay, and so do a user's mappings. The next reconcile checks all bills again if a stored
 * category changes.
 */
export async function seedBusinessTypes(db: Database): Promise<void> {
  // A read comes first: in a distributed database any write of this table fails while one node is down.
  const stored = new Map((await readMappedTypes(db)).map((type) => [type.code, type]));
  const met = [...stored.keys()].filter((code) => code.includes("/") && !listedTypes.has(code));
  const differing = [...listedBusinessTypes, ...met.map(unlisted)].filter(
    ({ code, category, meaning }) => {
      const row = stored.get(code);
      return row?.listedCategory !== category || row.meaning !== meaning;
    },
  );
  if (differing.length === 0) return;
  const isCategoryNew = differing.some(({ code, category }) => {
    const row = stored.get(code);
    return row !== undefined && row.category !== (row.categoryByUser ?? category);
  });
  await inTransaction(db, async (tx) => {
    await tx.execute(sql`
      insert into business_types (code, category, listed_category, meaning)
      select code, category, category, meaning
      from ${records(differing)}
      order by code collate "C"
      on conflict (code) do update
      set
        category = coalesce(business_types.category_by_user, excluded.listed_category),
        listed_category = excluded.listed_category,
        changed_at = ${changedAt(sql`coalesce(business_types.category_by_user, excluded.listed_category)`)},
        meaning = excluded.meaning`);
    if (isCategoryNew) await checkAllAgain(tx);
  });
}

const listedTypes = new Set(listedBusinessTypes.map(({ code }) => code));

/** The business types that have no row yet. Those of the program's list have one since the migration. */
export async function readMissingTypes(
  tx: Transaction,
  pages: readonly Pick<PageCommit, "bills">[],
): Promise<readonly string[]> {
  const unlisted = new Set<string>();
  for (const { bills } of pages) {
    for (const { businessType } of bills) {
      if (!listedTypes.has(businessType)) unlisted.add(businessType);
    }
  }
  if (unlisted.size === 0) return [];
  const codes = [...unlisted].sort();
  const { rows } = await tx.execute<{ code: string }>(sql`
    select code
    from business_types
    where code = any(${textArray(codes)}::text[])`);
  const known = new Set(rows.map(({ code }) => code));
  return codes.filter((code) => !known.has(code));
}

/** Adds rows for these types. In a distributed database, writing to this table takes every node. */
export async function insertMissingTypes(tx: Transaction, codes: readonly string[]): Promise<void> {
  if (codes.length === 0) return;
  await tx.execute(sql`
    insert into business_types (code, category, listed_category, meaning)
    select code, category, category, meaning
    from ${records(codes.map(unlisted))}
    on conflict (code) do nothing`);
}
