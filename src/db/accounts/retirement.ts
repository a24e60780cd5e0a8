import { sql } from "drizzle-orm";
import type { ProductType } from "../../contract/product-types.ts";
import type { EpochMs } from "../../contract/time.ts";
import type { Database, Queryable } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { isOneOf } from "../sql/one-of.ts";
import { msOf, timeFrom } from "../sql/time-text.ts";

/** An account, or one of its product types, that is no longer synced. Its history stays. */
export type Retirement = {
  readonly account: string;
  /** Undefined for the whole account. */
  readonly productType: ProductType | undefined;
  readonly retiredAt: EpochMs;
};

/** @param accounts only these; default all. */
export async function readRetirements(
  db: Queryable,
  accounts?: readonly string[],
): Promise<readonly Retirement[]> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{
      account: string;
      product_type: ProductType | null;
      retired_at: string;
    }>(sql`
      select
        account,
        nullif(product_type, '') as product_type,
        ${msOf(sql`retired_at`)} as retired_at
      from streams
      where retired_at is not null
        and ${isOneOf(accounts)}
      order by account, product_type`);
    return rows.map((row) => ({
      account: row.account,
      productType: row.product_type ?? undefined,
      retiredAt: timeFrom(row.retired_at),
    }));
  });
}

/** {@link retiredSince} for many ledgers: looks up each one's retirements by its account. */
export function retirementsBy(
  retirements: readonly Retirement[],
): (stream: { readonly account: string; readonly productType: string }) => EpochMs | undefined {
  const byAccount = Map.groupBy(retirements, ({ account }) => account);
  return (stream) => retiredSince(byAccount.get(stream.account) ?? [], stream);
}

/** Since when a ledger is retired, by itself or with its account; undefined where it is not. */
export const retiredSince = (
  retirements: readonly Retirement[],
  { account, productType }: { readonly account: string; readonly productType: string },
): EpochMs | undefined =>
  retirements.find(
    (one) =>
      one.account === account && (one.productType === undefined || one.productType === productType),
  )?.retiredAt;

/** Retires an account or a product type. One that is retired already keeps its time. */
export async function retire(
  db: Database,
  account: string,
  productType: ProductType | undefined,
): Promise<void> {
  await withDatabaseErrors(() =>
    db.execute(sql`
      insert into streams as known (account, product_type, retired_at)
      values (${account}, ${productType ?? ""}, statement_timestamp())
      on conflict (account, product_type) do update
      set retired_at = excluded.retired_at
      where known.retired_at is null`),
  );
}

/** Undoes {@link retire}; of a whole account, for all product types. Rows stay: no role may delete them. */
export async function unretire(
  db: Database,
  account: string,
  productType: ProductType | undefined,
): Promise<void> {
  await withDatabaseErrors(() =>
    db.execute(sql`
      update streams
      set retired_at = null
      where account = ${account}
        and (${productType ?? null}::text is null or product_type = ${productType ?? null})
        and retired_at is not null`),
  );
}
