import type { Command } from "commander";
import { readConfig } from "../../config/config.ts";
import { backupHelp, restoreHelp } from "./help.ts";
import { type ExitWith, jsonOption, type ProgramDeps } from "./options.ts";

type BackupFlags = { readonly check: boolean; readonly force: boolean; readonly json: boolean };

/** The commands that copy the whole ledger to a file and back into a database. */
export function addBackupCommands(
  program: Command,
  { io, readEnvironment }: ProgramDeps,
  exitWith: ExitWith,
): void {
  const backup = async (path: string, { check, force, json }: BackupFlags) => {
    const { backupCommand, checkCommand } = await import("../backup.ts");
    if (check) return checkCommand(path, io, { json });
    const config = readConfig(readEnvironment(), { credentials: false });
    return backupCommand(config, path, io, { force, json });
  };
  const restore = async (path: string, options: Pick<BackupFlags, "json">) => {
    const config = readConfig(readEnvironment(), { credentials: false });
    const { restoreCommand } = await import("../backup.ts");
    return restoreCommand(config, path, io, options);
  };
  program
    .command("backup")
    .argument("<file>", "the file to write")
    .description("write the whole ledger to one file, from any Postgres")
    .option("--check", "read an existing file instead, and compare its digests", false)
    .option("--force", "replace the file if it exists", false)
    .addOption(jsonOption("a line"))
    .addHelpText("after", backupHelp)
    .action(exitWith(backup));
  program
    .command("restore")
    .argument("<file>", "a file that backup wrote")
    .description("restore such a file into an empty database of any Postgres")
    .addOption(jsonOption("a line"))
    .addHelpText("after", restoreHelp)
    .action(exitWith(restore));
}
