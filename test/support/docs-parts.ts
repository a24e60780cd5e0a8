import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Command, Option } from "commander";
import { is } from "drizzle-orm";
import { getTableConfig, PgTable } from "drizzle-orm/pg-core";
import { z } from "zod";
import { variables } from "../../src/accounts/settings.ts";
import { findingKinds, isHole, kindNames } from "../../src/check/health/finding-kinds.ts";
import { breakKinds } from "../../src/check/reconcile/breaks.ts";
import { tables } from "../../src/core/postgres/schema/tables.ts";

/** A part of a page that `npm run docs` writes, and its name. */
export const generatedPart = /^<!-- generated: (\w+) -->$.*?^<!-- end -->$/gms;

/** A page whose parts between `<!-- generated: NAME -->` and `<!-- end -->` are replaced by these texts. */
export function withParts(path: string, parts: Readonly<Record<string, string>>): string {
  const names: string[] = [];
  const text = readFileSync(path, "utf8").replaceAll(generatedPart, (_, name: string) => {
    names.push(name);
    return `<!-- generated: ${name} -->\n\n${parts[name]}\n\n<!-- end -->`;
  });
  const expected = Object.keys(parts).toSorted().join();
  if (names.toSorted().join() !== expected)
    throw new Error(`${path} has not the parts ${expected}`);
  return text;
}

/** The parts of docs/reference.md that are made of the program. */
export const referenceParts = (program: Command): Readonly<Record<string, string>> => ({
  commands: commandsText(program),
  settings: settingsTable(),
  findings: findingsTable(),
  breaks: breaksTable(),
  tables: tablesTable(),
});

const lineOf = ({ flags, description, defaultValue }: Option): string => {
  const usual = ["string", "number"].includes(typeof defaultValue)
    ? `; default: ${defaultValue}`
    : "";
  return `\`${flags}\`: ${description}${usual}`;
};

/** Each command with its options. Options that three commands share are described once. */
function commandsText(program: Command): string {
  const commands = program.commands.flatMap((command) => [
    { command, name: command.name() },
    ...command.commands.map((part) => ({
      command: part,
      name: `${command.name()} ${part.name()}`,
    })),
  ]);
  const counts = Map.groupBy(
    commands.flatMap(({ command }) => command.options.map(lineOf)),
    (line) => line,
  );
  const isShared = (option: Option): boolean => (counts.get(lineOf(option)) ?? []).length > 2;
  const shared = [...counts].flatMap(([line, uses]) => (uses.length > 2 ? [`- ${line}`] : []));
  const lines = commands.flatMap(({ command, name }) => {
    const words = command.registeredArguments
      .map((argument) => ` <${argument.name()}${argument.variadic ? "..." : ""}>`)
      .join("");
    const also = command.options.filter(isShared).map(({ long }) => `\`${long}\``);
    const sharedText = also.length === 0 ? "" : ` Also ${also.join(", ")}.`;
    return [
      `- **\`${name}${words}\`**: ${command.description()}.${sharedText}`,
      ...command.options
        .filter((option) => !isShared(option))
        .map((option) => `  - ${lineOf(option)}`),
    ];
  });
  return [...shared, "", ...lines].join("\n");
}

function settingsTable(): string {
  const { properties = {} } = z.toJSONSchema(variables, { io: "input", unrepresentable: "any" });
  const rows = Object.entries(properties).map(([name, property]) => {
    const { default: usual, description } = Object(property);
    return `| \`${name}\` | ${usual ? `\`${usual}\`` : ""} | ${description} |`;
  });
  return ["| variable | default | meaning |", "|---|---|---|", ...rows].join("\n");
}

export function findingsTable(): string {
  return [
    "| finding | severity | means | bills may be missing |",
    "|---|---|---|---|",
    ...kindNames.map((kind) => {
      const { severity, meaning } = findingKinds[kind];
      return `| \`${kind}\` | ${severity} | ${meaning} | ${isHole({ kind }) ? "yes" : ""} |`;
    }),
  ].join("\n");
}

function breaksTable(): string {
  const rows = Object.entries(breakKinds).map(([kind, meaning]) => `| \`${kind}\` | ${meaning} |`);
  return ["| kind | means |", "|---|---|", ...rows].join("\n");
}

/** Each table with the first sentence of its comment, and its key. */
function tablesTable(): string {
  const source = globSync("src/core/postgres/schema/*.ts")
    .map((path) => readFileSync(path, "utf8"))
    .join("\n");
  const rows = Object.values(tables)
    .filter((table) => is(table, PgTable))
    .map((table) => {
      const { name, columns, primaryKeys } = getTableConfig(table);
      const of = [...(primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary))];
      const key = of.map((column) => column.name).join(", ");
      return `| \`${name}\` | ${meaningOf(source, name)} | ${key} |`;
    });
  return ["| table | a row is | key |", "|---|---|---|", ...rows.toSorted()].join("\n");
}

function meaningOf(source: string, table: string): string {
  const end = source.search(new RegExp(`\\*/\\nexport const \\w+ = pgTable\\(\\s*"${table}"`));
  if (end === -1) throw new Error(`the table ${table} has no comment`);
  const comment = source.slice(source.lastIndexOf("/**", end) + 3, end);
  const [sentence = ""] = comment
    .replaceAll(/\s*\n \* ?/g, " ")
    .trim()
    .split(/(?<=\.) /);
  return sentence.replace(/\.$/, "");
}

/** What the program promises. A test file that holds one begins with `// Holds: NAME, NAME`. */
const promises: Readonly<Record<string, string>> = {
  Tiling:
    "The windows of a run are exactly the wanted time less coverage: no hole, no overlap, none longer than the exchange allows; each is requested 1 ms wider",
  "Atomic pages":
    "The bills, rejected rows, cursor and counters of a page are committed together or not at all",
  "Honest coverage":
    "Coverage never includes time that was not read to its end, whatever is wrong with the machine's clock or the exchange's",
  "One row a bill": "Unchanged rows are not rewritten; a restatement keeps what it replaced",
  "Nothing dropped":
    "Every row that the exchange served is in `bills` or in `rejected_bills`; a broken row never stops the good ones",
  "Nothing shown is dropped":
    "A row that any answer showed, in time that is called complete, is stored or rejected, or the run says which is not",
  "Within the limit":
    "In any rolling second no more requests arrive than the exchange allows, in retries, too",
  Exact: "A decimal is read back as it was stored; no amount and no id is ever a number",
  "No false success": "A run that did not finish exits non-zero and names what is missing",
  "Quiet secrets": "No log, error, row or report contains a key, secret, passphrase or signature",
  "Twice is once": "A second run over unchanged data changes no row but the run log",
  "Proven balances":
    "A report and an export of a period, and status of the newest days, name the first bill whose balance does not follow",
  "Days are of bills": "Each sum and balance of a day is that of the stored bills",
  Bounded: "Every loop, retry, wait and body has a limit",
  "One account one ledger": "A key of another account writes nothing under a known name",
  "Whose key": "The exchange's user id decides which account a key belongs to",
  "No answer over a hole":
    "What is served of stored time (mirror, page, export, report) says where it was not read, or refuses",
  "One definition":
    "A figure that two outputs show comes from one place; whether a ledger can be trusted is judged in one",
  "Recovered is not complete":
    "What comes from tax records is marked, and proven by comparison before it is merged",
};

/** Each promise with the test files that name it. */
export function promisesTable(): string {
  const holders = globSync("test/*.test.ts").toSorted().flatMap(promisesOf);
  const unheard = holders.filter(({ promise }) => promises[promise] === undefined);
  if (unheard.length > 0) throw new Error(`there is no promise ${unheard[0]?.promise}`);
  const rows = Object.entries(promises).map(([promise, sentence]) => {
    const files = holders.filter((holder) => holder.promise === promise);
    if (files.length === 0) throw new Error(`no test holds the promise ${promise}`);
    const names = files.map(({ path }) => `\`${basename(path)}\``);
    return `| **${promise}.** ${sentence} | ${names.join(" · ")} |`;
  });
  return ["| promise | held by |", "|---|---|", ...rows].join("\n");
}

function promisesOf(path: string): readonly { readonly path: string; readonly promise: string }[] {
  const [, names] = /^\/\/ Holds: (.*)$/m.exec(readFileSync(path, "utf8")) ?? [];
  return names?.split(", ").map((promise) => ({ path, promise })) ?? [];
}
