import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { asksForJson, printErrorJson } from "../../app/error-json.ts";
import { type ExitCode, print, tell } from "../../app/io.ts";
import { selectionOf } from "../../app/selection.ts";
import { contractTypesOf, forTargets, needsCredentials, targetsOf } from "../../app/targets.ts";
import { readConfig } from "../../config/config.ts";
import { UsageError } from "../../errors.ts";
import { formatList } from "../../export/formats.ts";
import { withShortWords } from "../../printable.ts";
import { ltvMaxDefault } from "../../reports/alerts.ts";
import { programVersion } from "../../version.ts";
import type { DemoOptions } from "../demo.ts";
import type { ExportWords } from "../export/export-options.ts";
import type { SandboxCommandOptions, SandboxMode } from "../sandbox.ts";
import { addAccountCommands } from "./account-commands.ts";
import { addBackupCommands } from "./backup-commands.ts";
import { addReconcileCommand, addRepairCommands, addReportCommand } from "./checking-commands.ts";
import { addFleetCommands } from "./fleet-commands.ts";
import { doctorHelp, exportHelp, programHelp, sandboxHelp, statusHelp, syncHelp } from "./help.ts";
import {
  accountOption,
  type ExitWith,
  jsonOption,
  maxAgeOption,
  narrowedConfig,
  offsetOf,
  type ProgramDeps,
  pageOf,
  portOf,
  productOption,
  type Reporting,
  ratioOf,
  reporting,
} from "./options.ts";
import { addServingCommands } from "./serving-commands.ts";
import { addTypesCommands } from "./types-commands.ts";

/**
 * Runs the typed command.
 * @throws any error that stopped the command. Wrong usage is printed, and its exit code returned.
 */
export async function runProgram(args: readonly string[], deps: ProgramDeps): Promise<ExitCode> {
  let exitCode: ExitCode = 0;
  const exitWith =
    <Args extends unknown[]>(command: (...args: Args) => Promise<ExitCode>) =>
    async (...args: Args): Promise<void> => {
      exitCode = await command(...args);
    };
  try {
    await programOf(deps, exitWith).parseAsync(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    const wrongUsage = new UsageError(error.message.replace(/^error: /, ""));
    if (asksForJson(args)) printErrorJson(deps.io, wrongUsage, 2);
    return 2;
  }
  return exitCode;
}

/** The definition of all commands, arguments and options. No command runs before it has parsed. */
export function programOf(deps: ProgramDeps, exitWith: ExitWith): Command {
  const program = openProgram(deps);
  addLedgerCommands(program, deps, exitWith);
  addExport(program, deps, exitWith);
  addRepairCommands(program, deps, exitWith);
  addReconcileCommand(program, deps, exitWith);
  addReportCommand(program, deps, exitWith);
  addAccountCommands(program, deps, exitWith);
  addDatabaseCommands(program, deps, exitWith);
  addBackupCommands(program, deps, exitWith);
  addTypesCommands(program, deps, exitWith);
  addServingCommands(program, deps, exitWith);
  addFleetCommands(program, deps, exitWith);
  addSandboxCommands(program, deps, exitWith);
  return program;
}

function openProgram({ io, isRunByNpm }: ProgramDeps): Command {
  return new Command("bill-sync")
    .description("Keeps the whole history of a futures account's bills in Postgres.")
    .version(programVersion(), "--version", "print the version")
    .exitOverride()
    .configureOutput({
      // commander ends each text with a line end; print and tell add their own.
      writeOut: (text) => print(io, text.replace(/\n$/, "")),
      writeErr: (text) => tell(io, withShortWords(text).replace(/\n$/, "")),
    })
    .showHelpAfterError(`(--help shows what there is${isRunByNpm ? npmHint : ""})`)
    .addHelpText("after", programHelp);
}

const npmHint = "; options come after two dashes: npm run verify -- --help";

// Each command is imported when it runs: importing all takes half a second, for which help and a
// mistyped word need not wait.

function addLedgerCommands(
  program: Command,
  { io, readEnvironment }: ProgramDeps,
  exitWith: ExitWith,
): void {
  const configOf = (credentials: boolean, options: Reporting) =>
    narrowedConfig(readEnvironment, credentials, options);
  const sync = async (options: Reporting & { readonly newKey: boolean }) => {
    const targets = targetsOf(options.only);
    const whole = configOf(needsCredentials(targets), options);
    const config = forTargets(whole, targets);
    const contractTypes = contractTypesOf(whole);
    const { syncCommand } = await import("../sync/sync.ts");
    const { json, newKey } = options;
    return syncCommand(config, io, { json, targets, newKey, contractTypes });
  };
  const plan = async (options: Reporting) => {
    const targets = targetsOf(options.only);
    const whole = configOf(false, options);
    const config = forTargets(whole, targets);
    const contractTypes = contractTypesOf(whole);
    const { planCommand } = await import("../plan.ts");
    return planCommand(config, io, { json: options.json, targets, contractTypes });
  };
  const status = async (options: Reporting & Checking) => {
    const configWith = (accounts: readonly string[] | undefined) =>
      readConfig(readEnvironment(), { credentials: false, accounts });
    const { statusCommand } = await import("../status/status.ts");
    const { json, check, maxAge: maxAgeMs, maxLtv: ltvMax, limit, offset } = options;
    const limits = check ? { maxAgeMs, ltvMax } : undefined;
    const selection = selectionOf(options);
    return statusCommand(configWith, io, { json, selection, limits, limit, offset });
  };
  reporting(program.command("sync"))
    .addOption(only())
    .option("--new-key", "accept API keys without proof that they belong to their accounts", false)
    .description("fetch what is missing, up to now; run it from cron")
    .addHelpText("after", syncHelp)
    .action(exitWith(sync));
  reporting(program.command("plan"))
    .addOption(only())
    .description("show what sync would fetch; asks the exchange only for its time")
    .action(exitWith(plan));
  reporting(program.command("status"))
    .description("show through when each ledger is complete, and what is missing or lost")
    .option("--limit <number>", "show at most this many ledgers, the worst first", pageOf)
    .option("--offset <number>", "skip this many", offsetOf)
    .option("--check", "exit with 1 where an alert rule would fire, and name it", false)
    .addOption(maxAgeOption("with --check: how old the newest complete time may be"))
    .option("--max-ltv <ratio>", "with --check: the highest loan to value", ratioOf, ltvMaxDefault)
    .addHelpText("after", statusHelp)
    .action(exitWith(status));
}

type Checking = {
  readonly check: boolean;
  readonly maxAge: number;
  readonly maxLtv: number;
  readonly limit?: number;
  readonly offset?: number;
};

const only = () =>
  new Option("--only <target...>", "only these targets: bills, ltv, symbols, contracts");

function addExport(
  program: Command,
  { io, readEnvironment }: ProgramDeps,
  exitWith: ExitWith,
): void {
  const exportBills = async (words: ExportWords) => {
    const { exportOptions } = await import("../export/export-options.ts");
    const options = exportOptions(words);
    const config = readConfig(readEnvironment(), { credentials: false });
    const { exportCommand } = await import("../export/export.ts");
    return exportCommand(config, io, options);
  };
  program
    .command("export")
    .description("write the stored bills as csv, parquet, a journal, or for ccxt or Koinly")
    .requiredOption("--format <format>", formatList)
    .addOption(accountOption())
    .addOption(productOption())
    .option("--from <time>", "from this time on, inclusive: 2026-01-31 or 2026-01-31T09:30Z")
    .option(
      "--to <time>",
      "bills before this time, exclusive; default: the end of what was read completely",
    )
    .option("--month <month>", "a whole month, 2026-10, instead of --from and --to")
    .option(
      "--time-zone <zone>",
      "the zone of these dates and of a journal's days: Europe/Berlin; default: UTC",
    )
    .option("--continue [time]", "continue earlier journals, the first of which began at this time")
    .option("--changed-since <time>", "only bills that were stored or restated since then")
    .option("--demo", "include demo trading in journals and for Koinly")
    .option("--output <file>", "a new file instead of standard output")
    .option("--force", "replace the file if it exists")
    .addHelpText("after", exportHelp)
    .action(exitWith(exportBills));
}

function addDatabaseCommands(
  program: Command,
  { io, readEnvironment }: ProgramDeps,
  exitWith: ExitWith,
): void {
  const readDatabaseConfig = () => readConfig(readEnvironment(), { credentials: false });
  const migrate = async () => {
    const config = readDatabaseConfig();
    const { migrateCommand } = await import("../database.ts");
    return migrateCommand(config, io);
  };
  const db = async (options: { readonly write: boolean }) => {
    const config = readDatabaseConfig();
    const { databaseCommand } = await import("../database.ts");
    return databaseCommand(config, io, options);
  };
  const doctor = async (options: Pick<Reporting, "json" | "account">) => {
    const { doctorCommand } = await import("../doctor/doctor.ts");
    return doctorCommand(readEnvironment, io, options);
  };
  program
    .command("doctor")
    .description("check everything that sync needs; say what is wrong and what to do")
    .addOption(accountOption())
    .addOption(jsonOption("lines"))
    .addHelpText("after", doctorHelp)
    .action(exitWith(doctor));
  program
    .command("migrate")
    .description("create or update the tables; sync does it too")
    .action(exitWith(migrate));
  program
    .command("db")
    .description("print the database's address and keep the embedded Postgres running until Ctrl-C")
    .option("--write", "an address that may also write, not only read", false)
    .action(exitWith(db));
}

function addSandboxCommands(
  program: Command,
  { io, readEnvironment }: ProgramDeps,
  exitWith: ExitWith,
): void {
  const sandbox = async (options: SandboxCommandOptions) => {
    const { sandboxCommand } = await import("../sandbox.ts");
    return sandboxCommand(io, options);
  };
  type DemoWords = Pick<DemoOptions, "mode"> & { readonly open?: boolean };
  const demo = async ({ open: isOpen = false, mode }: DemoWords) => {
    const { demoCommand } = await import("../demo.ts");
    return demoCommand(readEnvironment(), io, { isOpen, mode });
  };
  program
    .command("sandbox")
    .description("run a sandbox exchange until Ctrl-C; prints the lines for .env")
    .option("--port <port>", "0 for any free port", portOf, 0)
    .option("--seed <text>", "the same seed gives the same ledger", "1")
    .addOption(
      new Option("--mode <mode...>", "kind of its account; several are printed for ACCOUNTS_FILE")
        .choices(["classic", "unified", "upgrading", "demo"] satisfies SandboxMode[])
        .default(["classic"], "classic"),
    )
    .option(
      "--upgrade-after <seconds>",
      "when an upgrading account begins to become unified; it takes a minute",
      secondsOf,
      0,
    )
    .addHelpText("after", sandboxHelp)
    .action(exitWith(sandbox));
  program
    .command("demo")
    .description("sync a sandbox exchange into an embedded Postgres and show the result")
    .addOption(
      new Option("--mode <mode>", "the kind of the sandbox's account")
        .choices(["classic", "unified"] satisfies DemoOptions["mode"][])
        .default("classic"),
    )
    .option("--open", "serve its page until Ctrl-C, as on a terminal")
    .action(exitWith(demo));
}

function secondsOf(text: string): number {
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It is not a whole number of seconds.");
}
