import { createHash } from "node:crypto";
import { sql } from "drizzle-orm";
import pg from "pg";
import { frequentTypes } from "../contract/business-types.ts";
import { DatabaseError } from "../errors.ts";
import type { Queryable, Transaction } from "./connect.ts";
import { bookedMaxOf, chainOrder, chainPlace } from "./sql/chain-order.ts";
import { isIdOddText } from "./sql/id-time.ts";
import { flagWords } from "./sql/is-demo.ts";
import { movementWords } from "./sql/movements.ts";
import { readSqlFile, type Words } from "./sql/sql-file.ts";
import { apart, mayContainFeeText, productTypesOf, unifiedArray, walletOf } from "./sql/wallet.ts";
import { joinRules, walletMoves, walletSums } from "./sql/wallet-moves.ts";
import { textArray } from "./values.ts";

/** The views of schema `analytics`, each after those that it reads. */
export const viewNames = [
  "entries",
  "activity",
  "coverage",
  "daily_rollforward",
  "monthly_rollforward",
  "by_symbol_day",
  "liquidations",
  "transfers",
  "transfers_between_accounts",
  "bonuses",
  "ltv_history",
  "bill_contracts",
  "data_quality",
  "breaks",
  "break_history",
] as const;

/** A view's definition and comments, and their SHA-256 in hexadecimal. */
export type View = {
  readonly schema: "analytics" | "public";
  readonly name: string;
  readonly text: string;
  readonly hash: string;
};

const viewOf = (schema: View["schema"], name: string, text: string): View => ({
  schema,
  name,
  text,
  hash: createHash("sha256").update(text).digest("hex"),
});

const moves = walletMoves("bills");
const sums = walletSums("days");

/** What the files of views leave open: each stands in one place of src/db/sql. */
const words: Words = {
  amount_apart: apart("amount", "entries.product_type"),
  bills_wallet: walletOf("bills.product_type"),
  chain_order: chainOrder(),
  days_booked_max: bookedMaxOf("days.wallet"),
  days_product_types: productTypesOf("days.wallet"),
  days_wallet: walletOf("days.product_type"),
  entries_place: chainPlace("entries"),
  fee_apart: apart("fee", "entries.product_type"),
  frequent_types: sql.raw(`array[${frequentTypes.map((code) => `'${code}'`).join(", ")}]`),
  may_contain_fee: sql.raw(mayContainFeeText("days.product_type")),
  is_id_odd: sql.raw(isIdOddText("bills")),
  join_day_rules: joinRules("days"),
  ...flagWords,
  ...movementWords,
  join_rules: joinRules("bills"),
  // The kinds of breaks whose difference is how far one balance is off the bills before it.
  step_kinds: sql`('chain', 'balance', 'duplicate', 'fee-sign', 'unread')`,
  sum_amount_in: sums.amountIn,
  sum_amount_out: sums.amountOut,
  sum_fee_in: sums.feeIn,
  sum_fee_out: sums.feeOut,
  unified_types: unifiedArray,
  wallet: walletOf("product_type"),
  wallet_amount: moves.amount,
  wallet_fee: moves.fee,
};

/** The views of `analytics`. After the first, which they read, come the views that put days together. */
export function readViews(): readonly View[] {
  const [entries, ...others] = viewNames.map((name) => {
    const shared = readSqlFile("shared-columns", { view: sql.raw(name) });
    const text = readSqlFile(`views/${name}`, words);
    return viewOf(
      "analytics",
      name,
      text.replace(/(?=^comment on view)/m, () => shared),
    );
  });
  const days = dayViews().map(({ name, text }) => viewOf("public", name, text));
  return [...(entries === undefined ? [] : [entries]), ...days, ...others];
}

/**
 * The views through which the views of `analytics` read days. They are not part of that schema:
 * each is of use only together with the others.
 */
const dayViews = (): readonly { readonly name: string; readonly text: string }[] => [
  ...["chain_days", "chained_days", "known_entries"].map((name) => ({
    name,
    text: readSqlFile(`days/${name}`, words),
  })),
  { name: "classic_activity", text: readSqlFile("days/wallet_activity", { ...words, ...classic }) },
  { name: "unified_activity", text: readSqlFile("days/wallet_activity", { ...words, ...unified }) },
];

const classic: Words = {
  name: sql`classic_activity`,
  product_type: sql`known.wallet`,
  product_types: sql`known.wallet`,
  of_wallet: sql`known.wallet <> 'UTA'`,
};

const unified: Words = {
  name: sql`unified_activity`,
  product_type: sql`bills.product_type`,
  product_types: sql`any(${unifiedArray})`,
  of_wallet: sql`known.wallet = 'UTA'`,
};

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
 * @throws DatabaseError where an object that is not this program's is in the way.
 */
export async function makeViews(tx: Transaction, views: readonly View[]): Promise<boolean> {
  if (await areViewsCurrent(tx, views)) return false;
  await refuseForeignNames(tx, views);
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
  try {
    await tx.execute(sql`drop view if exists ${sql.join(names, sql`, `)}`);
  } catch (error) {
    const failure = serverErrorOf(error);
    if (failure?.code !== "2BP01") throw error;
    throw new DatabaseError(
      "the views of schema analytics must be made anew, and objects that are not this program's " +
        `depend on them: ${failure.detail?.replaceAll("\n", "; ")}. Drop these objects, run ` +
        "bill-sync db migrate, and create them again",
      { cause: failure },
    );
  }
}

/** Refuses to replace objects that have a view's name but were not created by this program. */
async function refuseForeignNames(tx: Transaction, views: readonly View[]): Promise<void> {
  const { rows } = await tx.execute<{ name: string }>(sql`
    select nspname || '.' || relname as name
    from ${objectsNamedAs(views)}
    where relname not in (select name from analytics_views)
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
