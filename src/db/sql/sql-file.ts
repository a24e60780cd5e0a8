import { readFileSync } from "node:fs";

const folder = new URL("../../sql/", import.meta.url);

/**
 * The text of a file of src/sql, with its placeholders replaced: a dollar sign and the name of one of the
 * words. Others are left as they are.
 * @param name of the file in that folder, without its ending.
 */
export function readSqlFile(name: string, words: Readonly<Record<string, string>>): string {
  const text = readFileSync(new URL(`${name}.sql`, folder), "utf8");
  return text.replaceAll(/\$([a-z_]+)/g, (found, word) => words[word] ?? found);
}
