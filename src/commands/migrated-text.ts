import type { Migrated } from "../db/migrate.ts";
import { formatCounted } from "../output/format.ts";

/** @returns undefined if nothing was done. */
export function migratedText({ migrations, areViewsNew }: Migrated): string | undefined {
  if (migrations > 0) return `applied ${formatCounted(migrations, "migration")}`;
  return areViewsNew ? "recreated the views of schema analytics" : undefined;
}
