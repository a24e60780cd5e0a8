import { globSync, readFileSync } from "node:fs";
import type { Command, Option } from "commander";
import { is } from "drizzle-orm";
import { getTableConfig, PgTable } from "drizzle-orm/pg-core";
import { z } from "zod";
import { breakKinds } from "../../src/audit/breaks.ts";
import { tables } from "../../src/db/schema/tables.ts";
import { findingKinds, isHole, kindNames } from "../../src/health/kinds.ts";
import { variables } from "../../src/roster/settings.ts";

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
  const rows = kindNames.map((kind) => {
    const { severity, meaning } = findingKinds[kind];
    return `| \`${kind}\` | ${severity} | ${meaning} | ${isHole({ kind }) ? "yes" : ""} |`;
  });
  return [
    "| finding | severity | means | bills may be missing |",
    "|---|---|---|---|",
    ...rows,
  ].join("\n");
}

function breaksTable(): string {
  const rows = Object.entries(breakKinds).map(([kind, meaning]) => `| \`${kind}\` | ${meaning} |`);
  return ["| kind | means |", "|---|---|", ...rows].join("\n");
}

/** Each table with the first sentence of its comment, and its key. */
function tablesTable(): string {
  const source = globSync("src/db/schema/*.ts")
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
