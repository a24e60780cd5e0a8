import pg from "pg";
import type { Database } from "../../src/db/connect.ts";

/** A process that stands still in the middle of a COPY, with the account's row locked. */
export async function freezeInCopy(db: Database, account: string) {
  const client = await db.$client.connect();
  /** Its connection's end. */
  const gone = new Promise<Error>((resolve) => client.once("error", resolve));
  await client.query("begin");
  await client.query("select 1 from account_leases where account = $1 for update", [account]);
  // Its first row never comes.
  const copying = new Promise((resolve) => {
    const copy = new pg.Query("copy bills (account) from stdin", resolve);
    Object.assign(copy, { handleCopyInResponse: () => undefined });
    client.query(copy);
  });
  return { client, gone, copying };
}
