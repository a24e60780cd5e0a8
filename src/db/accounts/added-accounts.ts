import { sql } from "drizzle-orm";
import type { ProductType } from "../../contract/product-types.ts";
import type { Database, Queryable } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { isOneOf, textArray } from "../values.ts";

/** An account's row in the table `accounts`. It holds no credentials. */
export type AddedAccount = {
  readonly name: string;
  /** Undefined for the product types that are synced for all accounts. */
  readonly productTypes: readonly ProductType[] | undefined;
  readonly demo: boolean;
  readonly ltv: boolean;
  /** A parent account's risk units; none for a risk unit's own account. */
  readonly riskUnitIds: readonly string[];
};

/** @returns false where the account was added before; its row then stays as it is. */
export async function addAccount(db: Database, account: AddedAccount): Promise<boolean> {
  const { name, productTypes, demo, ltv, riskUnitIds } = account;
  return withDatabaseErrors(async () => {
    const { rowCount } = await db.execute(sql`
      insert into accounts (account, product_types, demo, ltv, risk_unit_ids)
      values (
        ${name}, ${productTypes ? textArray(productTypes) : null}::text[], ${demo}, ${ltv},
        ${riskUnitIds.length > 0 ? textArray(riskUnitIds) : null}::text[]
      )
      on conflict (account) do nothing`);
    return rowCount === 1;
  });
}

/** The added accounts, in the order of their names. @param names only these; default all. */
export async function readAddedAccounts(
  db: Queryable,
  names?: readonly string[],
): Promise<readonly AddedAccount[]> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{
      name: string;
      productTypes: readonly ProductType[] | null;
      demo: boolean;
      ltv: boolean;
      riskUnitIds: readonly string[] | null;
    }>(sql`
      select
        account as name,
        product_types as "productTypes",
        demo,
        ltv,
        risk_unit_ids as "riskUnitIds"
      from accounts
      where ${isOneOf(names)}
      order by account`);
    return rows.map(({ productTypes, riskUnitIds, ...row }) => ({
      ...row,
      productTypes: productTypes ?? undefined,
      riskUnitIds: riskUnitIds ?? [],
    }));
  });
}
