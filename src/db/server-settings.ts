import { sql } from "drizzle-orm";
import { DatabaseError } from "../errors.ts";
import type { Database } from "./connect.ts";
import { onlyRow } from "./values.ts";

export type ServerSettings = {
  /** `server_version_num`: 140012 is 14.12. */
  readonly versionNumber: number;
  readonly encoding: string;
  /** The schema in which unqualified names are created; null where there is none. */
  readonly currentSchema: string | null;
};

const versionMin = 14;

/** Why these settings would fail the program or damage what it stores, with the remedy. */
export function unfitness({
  versionNumber,
  encoding,
  currentSchema,
}: ServerSettings): string | undefined {
  const version = Math.floor(versionNumber / 10_000);
  if (version < versionMin) {
    return (
      `the server is PostgreSQL ${version}, and ${versionMin} or newer is needed; ` +
      "point DATABASE_URL at a newer one"
    );
  }
  if (encoding !== "UTF8") {
    return (
      `the database's encoding is ${encoding}, which cannot keep every text; make one with ` +
      "create database NAME encoding 'UTF8' template template0, and name it in DATABASE_URL"
    );
  }
  return currentSchema === "public"
    ? undefined
    : `this user's search_path begins with schema ${currentSchema ?? "(none)"}, and the tables ` +
        "belong in public; alter role NAME set search_path = public, and let the user use public";
}

/** @throws DatabaseError where the program cannot keep its promises on this server. */
export async function refuseUnfitServer(db: Database): Promise<void> {
  const { rows } = await db.execute<ServerSettings>(sql`
    select
      current_setting('server_version_num')::int as "versionNumber",
      pg_encoding_to_char(encoding) as "encoding",
      current_schema() as "currentSchema"
    from pg_database
    where datname = current_database()`);
  const reason = unfitness(onlyRow(rows, "the server's settings"));
  if (reason !== undefined) throw new DatabaseError(reason);
}
