import { sql } from "drizzle-orm";
import { type Database, inTransaction } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { textArray } from "../sql/array-literal.ts";
import { isOneOf } from "../sql/one-of.ts";

/** Which rejected rows are signed off, and why. */
export type RejectedSignOff = { readonly digests: readonly string[]; readonly note: string };

/**
 * Signs off all of these rows with the note, or none.
 * @param among the accounts whose rows are looked at; default all.
 * @returns the digests that no unresolved row has; empty where all were signed off.
 */
export async function signOffRejected(
  db: Database,
  { digests, note }: RejectedSignOff,
  among?: readonly string[],
): Promise<readonly string[]> {
  const areNamed = sql`digest = any (${textArray(digests)}::text[]) and resolved_at is null`;
  return withDatabaseErrors(() =>
    inTransaction(db, async (tx) => {
      const { rows } = await tx.execute<{ account: string; digest: string }>(sql`
        select account, digest
        from rejected_bills
        where ${areNamed}
          and ${isOneOf(among)}`);
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
