import { sql } from "drizzle-orm";
import { UsageError } from "../../errors.ts";
import { type Database, inTransaction } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { textArray } from "../sql/array-literal.ts";

/** Which rows are accepted as they are, and why. */
export type RejectedSignOff = { readonly digests: readonly string[]; readonly note: string };

/**
 * Resolves rows that broke the contract, with the note: all of them or none.
 * @throws UsageError for a digest of which no row is open.
 */
export async function signOffRejected(
  db: Database,
  { digests, note }: RejectedSignOff,
): Promise<void> {
  await withDatabaseErrors(() =>
    inTransaction(db, async (tx) => {
      const { rows } = await tx.execute<{ digest: string }>(sql`
        update rejected_bills
        set resolved_at = clock_timestamp(), note = ${note}
        where digest = any (${textArray(digests)}::text[])
          and resolved_at is null
        returning digest`);
      const missing = digests.filter((digest) => !rows.some((row) => row.digest === digest));
      if (missing.length === 0) return;
      throw new UsageError(
        `--accept ${missing.join(",")}: no open row of rejected_bills has this digest; replay lists them`,
      );
    }),
  );
}
