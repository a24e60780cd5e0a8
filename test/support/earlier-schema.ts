import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { drizzle } from "drizzle-orm/node-postgres";
import { migrate } from "drizzle-orm/node-postgres/migrator";
import { Client } from "pg";

const folder = fileURLToPath(new URL("../../migrations", import.meta.url));

/**
 * Migrates an empty database to the state of an earlier program: before the migration whose name
 * ends like this. It uses Drizzle's migrator, since this program also brings its present tables and
 * views.
 */
export async function migrateBefore(url: string, nameEnd: string): Promise<void> {
  const earlier = await mkdtemp(join(tmpdir(), "bill-sync-migrations-"));
  const client = new Client({ connectionString: url });
  try {
    await cp(folder, earlier, { recursive: true });
    const journalFile = join(earlier, "meta/_journal.json");
    const journal: { entries: { tag: string }[] } = JSON.parse(await readFile(journalFile, "utf8"));
    const end = journal.entries.findIndex(({ tag }) => tag.endsWith(nameEnd));
    if (end === -1) throw new Error(`there is no migration *${nameEnd}`);
    const entries = journal.entries.slice(0, end);
    await writeFile(journalFile, JSON.stringify({ ...journal, entries }));
    await client.connect();
    await migrate(drizzle(client), { migrationsFolder: earlier });
  } finally {
    await client.end();
    await rm(earlier, { recursive: true, force: true });
  }
}
