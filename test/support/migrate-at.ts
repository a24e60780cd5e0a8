import { openDatabase } from "../../src/core/postgres/connect.ts";
import { type Migrated, migrate } from "../../src/core/store/migrate.ts";

/** Migrates the database at an address, as a command does. */
export async function migrateAt(url: string, folder?: string): Promise<Migrated> {
  await using database = openDatabase(url);
  return await migrate(database.db, folder);
}
