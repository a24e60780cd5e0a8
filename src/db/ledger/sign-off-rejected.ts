import { sql } from "drizzle-orm";
import { UsageError } from "../../errors.ts";
import { type Database, inTransaction } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { textArray } from "../sql/array-literal.ts";

/** Which rejected rows are signed off, and why. */
export type RejectedSignOff = { readonly digests: readonly string[]; readonly note: string };

/**
 * Signs off all of these rows with the note, or none.
 * @throws UsageError for a digest that no unresolved row has.
 */
export async function signOffRejected(
  db: Database,
  { digests, note }: RejectedSignOff,
): Promise<void> {
  await withDatabaseErrors(() =>
    inTransaction(db, async (tx) => {
      const { rows } = await tx.execute<{ digest: string }>(sql`
        update rejected_bills
        set resolved_at = statement_timestamp(), note = ${note}
        where digest = any (${textArray(digests)}::text[])
          and resolved_at is null
        returning digest`);
      const missing = digests.filter((digest) => !rows.some((row) => row.digest === digest));
      if (missing.length === 0) return;
      throw new UsageError(
        `--accept ${missing.join(",")}: no unresolved row of rejected_bills has this digest; replay lists them`,
      );
    }),
  );
}
