import { type Category, categories, isCategory } from "../contract/business-types.ts";
import type { Database } from "../db/connect.ts";
import { migrate } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import {
  type MappedType,
  mapType,
  readMappedTypes,
} from "../db/reference/stored-business-types.ts";
import { UsageError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import { type Columns, type Result, table } from "../output/result.ts";
import { type Config, readConfig } from "../roster/config.ts";
import { type ExitCode, type Io, print, tell } from "./io.ts";
import { answer, type Define, jsonOption } from "./options.ts";
import { noResult, openStored } from "./stored.ts";

/** `types`: lists the category of each business type, and who chose it. */
async function typesCommand(config: Config, io: Io, json: boolean): Promise<ExitCode> {
  await using stored = await openStored(config, io);
  const { db } = stored;
  return answer(io, json, db === undefined ? noResult(config, { types: [] }) : await types(db));
}

const columns: Columns<MappedType> = {
  code: { kind: "text", title: "business type", of: ({ code }) => code },
  category: { kind: "text", of: ({ category }) => category },
  listedCategory: { kind: "text", title: "", of: ({ listedCategory }) => listedCategory },
  categoryByUser: { kind: "text", title: "", of: ({ categoryByUser }) => categoryByUser },
  by: {
    kind: "text",
    isForPeople: true,
    of: ({ categoryByUser, listedCategory }) =>
      categoryByUser === null ? "list" : `you (list: ${listedCategory})`,
  },
  meaning: { kind: "text", of: ({ meaning }) => meaning },
};

async function types(db: Database): Promise<Result> {
  const rows = await readMappedTypes(db);
  const isUnknown = rows.some(({ category }) => category === "unknown");
  const hint = "an unknown type counts as unmapped: bill-sync types set CODE CATEGORY maps it";
  return {
    data: {},
    parts: [table("types", columns, rows), ...(isUnknown ? [hint] : [])],
    exit: 0,
  };
}

/**
 * `types set` and `types unset`.
 * @param word the category; undefined to return to the program's list.
 * @throws UsageError for an unknown code or category.
 */
async function mapTypeCommand(
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

const help = `
Categories: transfer, trade, liquidation, funding, margin, bonus, copy,
delivery, interest, conversion, spot, loan, fees, unknown. A type that is not
listed is unknown until you map it; its bills are in the column "unmapped" of
the rollforwards. Views, exports and reconcile use the same categories. After a
change, reconcile checks all bills again.`;

export const define: Define = (command, { io, readEnvironment }, exitWith) => {
  const configOf = () => readConfig(readEnvironment(), { credentials: false });
  const map = (code: string, word: string | undefined) =>
    mapTypeCommand(configOf(), io, { code, word });
  command
    .addOption(jsonOption("a table"))
    .addHelpText("after", help)
    .action(exitWith(({ json }: { readonly json: boolean }) => typesCommand(configOf(), io, json)));
  command
    .command("set")
    .argument("<code>", "the business type, as the exchange names it")
    .argument("<category>", "the category of its bills")
    .description("map a business type; this overrides the program's list, also after updates")
    .action(exitWith((code: string, category: string) => map(code, category)));
  command
    .command("unset")
    .argument("<code>", "the business type, as the exchange names it")
    .description("go back to the program's list")
    .action(exitWith((code: string) => map(code, undefined)));
};
