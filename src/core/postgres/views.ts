import { sql } from "drizzle-orm";
import pg from "pg";
import { DatabaseError } from "../../lib/errors.ts";
import type { View } from "../views/views.ts";
import type { Queryable, Transaction } from "./connect.ts";
import { textArray } from "./values.ts";

/** The objects that have the name of one of these views. */
const objectsNamedAs = (views: readonly View[]) => sql`
    unnest(
      ${textArray(views.map(({ schema }) => schema))}::text[],
      ${textArray(views.map(({ name }) => name))}::text[]
    ) as wanted (schema, name)
    join pg_namespace on nspname = wanted.schema
    join pg_class on relnamespace = pg_namespace.oid and relname = wanted.name`;

/** Whether every view exists, and was created from its current file. */
export async function areViewsCurrent(db: Queryable, views: readonly View[]): Promise<boolean> {
  const { rows } = await db.execute<{ name: string; hash: string }>(sql`
    select name, hash
    from ${objectsNamedAs(views)}
    join analytics_views using (name)
    where relkind = 'v'`);
  const made = new Map(rows.map(({ name, hash }) => [name, hash]));
  return views.every(({ name, hash }) => made.get(name) === hash);
}

/**
 * Recreates all views where one differs from its file. Call it in a transaction
 * that holds the migration lock.
 * @returns whether it did.
 */
export async function makeViews(tx: Transaction, views: readonly View[]): Promise<boolean> {
  if (await areViewsCurrent(tx, views)) return false;
  await dropForgottenViews(tx, views);
  if (!(await replaceViews(tx, views))) {
    await dropViews(tx, views);
    await tx.execute(textOf(views));
  }
  await tx.execute(sql`
    insert into analytics_views (name, hash)
    select name, hash
    from unnest(
      ${textArray(views.map(({ name }) => name))}::text[],
      ${textArray(views.map(({ hash }) => hash))}::text[]
    ) as made (name, hash)
    on conflict (name) do update
    set hash = excluded.hash`);
  return true;
}

/** Drops the views of an earlier version that this one has no more. */
async function dropForgottenViews(tx: Transaction, views: readonly View[]): Promise<void> {
  const isForgotten = sql`name <> all(${textArray(views.map(({ name }) => name))}::text[])`;
  const { rows } = await tx.execute<Pick<View, "schema" | "name">>(sql`
    select nspname as schema, name
    from analytics_views
    join pg_class on relname = name and relkind = 'v'
    join pg_namespace on pg_namespace.oid = relnamespace and nspname in ('analytics', 'public')
    where ${isForgotten}`);
  await dropViews(tx, rows);
  await tx.execute(sql`delete from analytics_views where ${isForgotten}`);
}

const textOf = (views: readonly View[]) => sql.raw(views.map(({ text }) => text).join("\n"));

/**
 * Replaces the views in place, so that they keep their grants and other objects may depend on them. Works where new columns only come
 * after the existing ones.
 * @returns false where the columns differ in another way.
 */
async function replaceViews(tx: Transaction, views: readonly View[]): Promise<boolean> {
  await tx.execute(sql`savepoint replaced_views`);
  try {
    await tx.execute(textOf(views));
    return true;
  } catch (error) {
    if (serverErrorOf(error)?.code !== "42P16") throw error;
    await tx.execute(sql`rollback to savepoint replaced_views`);
    return false;
  }
}

async function dropViews(
  tx: Transaction,
  views: readonly Pick<View, "schema" | "name">[],
): Promise<void> {
  if (views.length === 0) return;
  const names = views.map(
    ({ schema, name }) => sql`${sql.identifier(schema)}.${sql.identifier(name)}`,
  );
  await tx.execute(sql`drop view if exists ${sql.join(names, sql`, `)}`);
}

/**
 * Refuses to replace objects that have a view's name but were not created by this program. Call it before
 * migrations, which drop views by their names.
 * @param areAnyOurs whether there is the table of the views that this program made.
 */
export async function refuseForeignNames(
  tx: Transaction,
  views: readonly View[],
  areAnyOurs: boolean,
): Promise<void> {
  const isOurs = areAnyOurs ? sql`relname in (select name from analytics_views)` : sql`false`;
  const { rows } = await tx.execute<{ name: string }>(sql`
    select nspname || '.' || relname as name
    from ${objectsNamedAs(views)}
    where not (${isOurs})
    order by nspname, relname`);
  if (rows.length === 0) return;
  const names = rows.map(({ name }) => name).join(", ");
  throw new DatabaseError(
    `bill-sync cannot make ${names}, since another object has that name: ` +
      "rename it or move it to another schema, and run bill-sync db migrate",
  );
}

const serverErrorOf = (error: unknown): pg.DatabaseError | undefined =>
  error instanceof Error && error.cause instanceof pg.DatabaseError ? error.cause : undefined;
