import { readFileSync } from "node:fs";
import type { SQL } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";

const folder = new URL("../../sql/", import.meta.url);
const dialect = new PgDialect();

/** What a file's placeholders stand for, by their names. None has a parameter. */
export type Words = Readonly<Record<string, SQL>>;

/**
 * The text of a file of src/sql, with its placeholders replaced: a dollar sign and the name of one of the
 * words. Others are left as they are.
 * @param name of the file in that folder, without its ending.
 */
export function readSqlFile(name: string, words: Words): string {
  const text = readFileSync(new URL(`${name}.sql`, folder), "utf8");
  return text.replaceAll(/\$([a-z_]+)/g, (found, word) => {
    const replacement = words[word];
    return replacement === undefined ? found : dialect.sqlToQuery(replacement).sql;
  });
}
