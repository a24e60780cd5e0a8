import type { Command } from "commander";
import { readConfig } from "../../config/config.ts";
import { typesHelp } from "./help.ts";
import { type ExitWith, jsonOption, type ProgramDeps } from "./options.ts";

/** The commands that map business types to categories. */
export function addTypesCommands(
  program: Command,
  { io, readEnvironment }: ProgramDeps,
  exitWith: ExitWith,
): void {
  const readDatabaseConfig = () => readConfig(readEnvironment(), { credentials: false });
  const list = async (options: { readonly json: boolean }) => {
    const config = readDatabaseConfig();
    const { typesCommand } = await import("../types.ts");
    return typesCommand(config, io, options);
  };
  const map = async (code: string, word: string | undefined) => {
    const config = readDatabaseConfig();
    const { mapTypeCommand } = await import("../types.ts");
    return mapTypeCommand(config, io, { code, word });
  };
  const types = program
    .command("types")
    .description("list the category of each business type, or map one yourself")
    .addOption(jsonOption("a table"))
    .addHelpText("after", typesHelp)
    .action(exitWith(list));
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
}
