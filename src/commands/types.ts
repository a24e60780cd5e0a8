import type { Config } from "../accounts/config.ts";
import { categories, isCategory } from "../core/contract/business-types.ts";
import {
  type MappedType,
  mapType,
  readMappedTypes,
} from "../core/store/reference/stored-business-types.ts";
import { UsageError } from "../lib/errors.ts";
import { didYouMean } from "../lib/nearest.ts";
import { type Columns, done, fields, type Result, table } from "../output/result.ts";
import type { Io } from "./io.ts";
import { type Define, jsonOption } from "./options.ts";
import { openFilled, openMigrated } from "./stored.ts";

const columns: Columns<MappedType> = {
  code: { kind: "text", title: "business type", of: ({ code }) => code },
  ...fields<MappedType>("text", ["category"]),
  ...fields<MappedType>("value", ["listedCategory", "categoryByUser"]),
  by: {
    kind: "text",
    isForPeople: true,
    of: ({ categoryByUser, listedCategory }) =>
      categoryByUser === null ? "list" : `you (list: ${listedCategory})`,
  },
  meaning: { kind: "text", of: ({ meaning }) => meaning },
};

/** `types`: lists the category of each business type, and who chose it. */
async function typesCommand(config: Config, io: Io): Promise<Result> {
  await using stored = await openFilled(config, io);
  const rows = await readMappedTypes(stored.db);
  const isUnclassified = rows.some(({ category }) => category === "unclassified");
  const hint = "bill-sync types set CODE CATEGORY classifies an unclassified type";
  return done(table("types", columns, rows), isUnclassified && hint);
}

/**
 * `types set` and `types unset`.
 * @param word the category; undefined to return to the program's list.
 * @throws UsageError for an unknown code or category.
 */
async function mapTypeCommand(
  config: Config,
  io: Io,
  code: string,
  word?: string,
): Promise<Result> {
  if (word !== undefined && !isCategory(word))
    throw new UsageError(
      `"${word}" is not a category${didYouMean(word, categories)}: ${categories.join(", ")}`,
    );
  await using database = await openMigrated(config, io);
  const mapped = await mapType(database.db, code, word);
  if (mapped === undefined) {
    const codes = (await readMappedTypes(database.db)).map((type) => type.code);
    throw new UsageError(
      `"${code}" is neither a listed business type nor one of a stored bill` +
        `${didYouMean(code, codes)}; "types" lists them`,
    );
  }
  const { category, listedCategory, categoryByUser } = mapped;
  const by =
    categoryByUser === null
      ? "as this program lists it"
      : `by you; this program lists it as ${listedCategory}`;
  const next =
    "the next export --changed-since has all its bills; Koinly keeps the rows that it has, so delete those of this type " +
    "there before you import them again";
  return done(`${mapped.code}: ${category}, ${by}`, next);
}

const help = `
A type that is not listed is unclassified until you map it; its bills are in the
column "unclassified" of the rollforwards. After a change, reconcile checks all
bills again.`;

export const define: Define = (command, { io, config, runs }) => {
  command
    .addOption(jsonOption())
    .addHelpText("after", help)
    .action(runs(() => typesCommand(config(), io)));
  command
    .command("set")
    .argument("<code>", "the business type, as the exchange names it")
    .argument("<category>", "the category of its bills")
    .description("map a business type; this overrides the program's list, also after updates")
    .action(runs((code: string, word: string) => mapTypeCommand(config(), io, code, word)));
  command
    .command("unset")
    .argument("<code>", "the business type, as the exchange names it")
    .description("go back to the program's list")
    .action(runs((code: string) => mapTypeCommand(config(), io, code)));
};
