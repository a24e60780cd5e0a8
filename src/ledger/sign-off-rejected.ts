import { sql } from "drizzle-orm";
import { type Database, inTransaction } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { isOneOf } from "../db/sql/one-of.ts";

/** Which rejected rows are signed off, and why. */
export type RejectedSignOff = { readonly digests: readonly string[]; readonly note: string };

/** The ledgers whose rows are looked at. Undefined for all. */
type Among = {
  readonly accounts: readonly string[] | undefined;
  readonly productTypes: readonly string[] | undefined;
};

/**
 * Signs off all of these rows with the note, or none. Rows of several ledgers may have one digest.
 * @returns the digests that no unresolved row has; empty where all were signed off.
 */
export async function signOffRejected(
  db: Database,
  { digests, note }: RejectedSignOff,
  { accounts, productTypes }: Among,
): Promise<readonly string[]> {
  const areNamed = sql`
          digest = any (${textArray(digests)}::text[])
          and resolved_at is null
          and ${isOneOf(productTypes, "product_type")}`;
  return withDatabaseErrors(() =>
    inTransaction(db, async (tx) => {
      const { rows } = await tx.execute<{ account: string; digest: string }>(sql`
        select account, digest
        from rejected_bills
        where ${areNamed}
          and ${isOneOf(accounts)}`);
      const missing = digests.filter((digest) => !rows.some((row) => row.digest === digest));
      if (missing.length > 0) return missing;
      for (const account of new Set(rows.map((row) => row.account))) {
        await tx.execute(sql`
          update rejected_bills
          set resolved_at = statement_timestamp(), note = ${note}
          where account = ${account}
            and ${areNamed}`);
      }
      return [];
    }),
  );
}
