import { drizzle } from "drizzle-orm/node-postgres";
import pg from "pg";
import type { Connection, Database, Transaction } from "../../src/db/connect.ts";
import { takeTurn } from "../../src/db/lease/account-turn.ts";

/**
 * A process that is frozen in the middle of a COPY, with its turn and a share lock on the lease.
 */
export async function freezeInCopy(db: Database, account: string) {
  const client = await db.$client.connect();
  /** Ends its connection. */
  const gone = new Promise<Error>((resolve) => client.once("error", resolve));
  await client.query("begin");
  const connection: Connection = drizzle(client);
  await takeTurn(connection as Transaction, account);
  await client.query("select 1 from account_leases where account = $1 for key share", [account]);
  // Its first row never comes.
  const copying = new Promise((resolve) => {
    const copy = new pg.Query("copy bills (account) from stdin", resolve);
    Object.assign(copy, { handleCopyInResponse: () => undefined });
    client.query(copy);
  });
  return { client, gone, copying };
}
