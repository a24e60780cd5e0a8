import { type Category, categories, isCategory } from "../contract/business-types.ts";
import type { Database } from "../db/connect.ts";
import { hasSchema, migrate } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import {
  type MappedType,
  mapType,
  readMappedTypes,
} from "../db/reference/stored-business-types.ts";
import { UsageError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import { printableLine } from "../printable.ts";
import { type Config, readConfig } from "../roster/config.ts";
import { type ExitCode, type Io, print, printJson, tell } from "./io.ts";
import { type Define, jsonOption } from "./options.ts";

/** `types`: lists the category of each business type, and who chose it. */
export async function typesCommand(
  config: Config,
  io: Io,
  { json }: { readonly json: boolean },
): Promise<ExitCode> {
  await using database = await openCommandDatabase(config.database, (message) => tell(io, message));
  const { db } = database;
  const types = (await hasSchema(db)) ? await readMappedTypes(db) : [];
  if (json) printJson(io, { types });
  else print(io, types.length === 0 ? "nothing is stored yet; run sync" : typesText(types));
  return 0;
}

/**
 * `types set` and `types unset`.
 * @param word the category; undefined to return to the program's list.
 * @throws UsageError for an unknown code or category.
 */
export async function mapTypeCommand(
  config: Config,
  io: Io,
  { code, word }: { readonly code: string; readonly word: string | undefined },
): Promise<ExitCode> {
  const category = word === undefined ? undefined : typedCategory(word);
  await using database = await openCommandDatabase(config.database, (message) => tell(io, message));
  await migrate(database.url.reveal());
  const mapped = await mapType(database.db, code, category);
  if (mapped === undefined) throw await unknownType(database.db, code);
  print(io, mappedText(mapped));
  return 0;
}

function typedCategory(word: string): Category {
  if (isCategory(word)) return word;
  throw new UsageError(
    `"${word}" is not a category${didYouMean(word, categories)}: ${categories.join(", ")}`,
  );
}

async function unknownType(db: Database, code: string): Promise<UsageError> {
  const codes = (await readMappedTypes(db)).map((type) => type.code);
  return new UsageError(
    `"${code}" is neither a listed business type nor one of a stored bill` +
      `${didYouMean(code, codes)}; "types" lists them`,
  );
}

const mappedText = ({ code, category, listedCategory, categoryByUser }: MappedType): string =>
  categoryByUser === null
    ? `${code}: ${category}, as this program lists it`
    : `${code}: ${category}, by you; this program lists it as ${listedCategory}`;

function typesText(types: readonly MappedType[]): string {
  const rows = types.map(({ code, category, listedCategory, categoryByUser, meaning }) => [
    code,
    category,
    categoryByUser === null ? "list" : `you (list: ${listedCategory})`,
    meaning,
  ]);
  const hasUnmapped = types.some(({ category }) => category === "unknown");
  return [
    ...flushLeft([["business type", "category", "by", "meaning"], ...rows]),
    ...(hasUnmapped
      ? ["", "an unknown type counts as unmapped; map it with: types set CODE CATEGORY"]
      : []),
  ].join("\n");
}

/** Lines of words, aligned left: the usual table is for numbers and aligns right. */
function flushLeft(rows: readonly (readonly string[])[]): readonly string[] {
  const lines = rows.map((row) => row.map(printableLine));
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  return lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

const help = `
Categories: transfer, trade, liquidation, funding, margin, bonus, copy,
delivery, interest, conversion, spot, loan, fees, unknown. A type that is not
listed is unknown until you map it; its bills are in the column "unmapped" of
the rollforwards. Views, exports and reconcile use the same categories. After a
change, reconcile checks all bills again.`;

export const define: Define = (types, { io, readEnvironment }, exitWith) => {
  const configOf = () => readConfig(readEnvironment(), { credentials: false });
  const map = (code: string, word: string | undefined) =>
    mapTypeCommand(configOf(), io, { code, word });
  types
    .addOption(jsonOption("a table"))
    .addHelpText("after", help)
    .action(
      exitWith((options: { readonly json: boolean }) => typesCommand(configOf(), io, options)),
    );
  types
    .command("set")
    .argument("<code>", "the business type, as the exchange names it")
    .argument("<category>", "the category of its bills")
    .description("map a business type; this overrides the program's list, also after updates")
    .action(exitWith((code: string, category: string) => map(code, category)));
  types
    .command("unset")
    .argument("<code>", "the business type, as the exchange names it")
    .description("go back to the program's list")
    .action(exitWith((code: string) => map(code, undefined)));
};
