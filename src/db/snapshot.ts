import { drizzle } from "drizzle-orm/node-postgres";
import { hourMs, minuteMs } from "../contract/time.ts";
import type { Database, Transaction } from "./connect.ts";

const statementMaxMs = 2 * minuteMs;
// The reader of the output sets the pace, and may be a person in front of a pager.
const idleMaxMs = hourMs;

const begin = `
  begin isolation level repeatable read read only;
  set local statement_timeout = ${statementMaxMs};
  set local idle_in_transaction_session_timeout = ${idleMaxMs}`;

/**
 * Runs work that sees the database as it was at one moment, and cannot write. Its connection is
 * closed where the work ends early: a cursor may still be open in it.
 */
export async function inSnapshot<T>(
  db: Database,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const client = await db.$client.connect();
  try {
    const tx = drizzle(client);
    await tx.execute(begin);
    const result = await work(tx);
    await tx.execute("commit");
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    throw error;
  }
}
