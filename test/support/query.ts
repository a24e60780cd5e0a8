import { Client } from "pg";

/** The rows of one statement, on a connection of its own. */
export async function query<Row = Record<string, unknown>>(
  url: string,
  statement: string,
): Promise<readonly Row[]> {
  const client = new Client({ connectionString: url });
  try {
    await client.connect();
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}
