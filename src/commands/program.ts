import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { type Config, narrowed, readConfig } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import { doctorHelp, programHelp, statusHelp, syncHelp } from "./help.ts";
import type { ExitCode, Io } from "./io.ts";
import { needsCredentials, partsOf, withParts } from "./parts.ts";

export type ProgramDeps = {
  readonly io: Io;
  /** Read only by a command that needs it: help is shown whatever the environment holds. */
  readonly readEnvironment: () => Environment;
};

/**
 * Runs what was typed.
 * @throws whatever stopped the command; wrong usage is told and comes back as its exit code.
 */
export async function runProgram(args: readonly string[], deps: ProgramDeps): Promise<ExitCode> {
  let exitCode: ExitCode = 0;
  const exitWith =
    <Args extends unknown[]>(command: (...args: Args) => Promise<ExitCode>) =>
    async (...args: Args): Promise<void> => {
      exitCode = await command(...args);
    };
  const program = openProgram(deps.io);
  addLedgerCommands(program, deps, exitWith);
  addReconcileCommand(program, deps, exitWith);
  addDatabaseCommands(program, deps, exitWith);
  addSandboxCommands(program, deps, exitWith);
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? 0 : 2;
  }
  return exitCode;
}

type ExitWith = <Args extends unknown[]>(
  command: (...args: Args) => Promise<ExitCode>,
) => (...args: Args) => Promise<void>;

function openProgram(io: Io): Command {
  return new Command("bill-sync")
    .description("Keeps the whole history of a futures account's bills in Postgres.")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out.write(text),
      writeErr: (text) => io.err.write(text),
    })
    .showHelpAfterError("(--help shows what there is)")
    .addHelpText("after", programHelp);
}

// Each command is loaded when it is run: all of them take half a second, which help and a
// wrong word need not wait for.

function addLedgerCommands(
  program: Command,
  { io, readEnvironment }: ProgramDeps,
  exitWith: ExitWith,
): void {
  const configOf = (credentials: boolean, options: Reporting): Config =>
    narrowed(readConfig(readEnvironment(), { credentials }), {
      accounts: options.account ?? [],
      productTypes: options.product ?? [],
    });
  const sync = async (options: Reporting) => {
    const parts = partsOf(options.only);
    const config = withParts(configOf(needsCredentials(parts), options), parts);
    const { syncCommand } = await import("./sync.ts");
    return syncCommand(config, io, { json: options.json, parts });
  };
  const plan = async (options: Reporting) => {
    const parts = partsOf(options.only);
    const config = withParts(configOf(false, options), parts);
    const { planCommand } = await import("./plan.ts");
    return planCommand(config, io, { json: options.json, parts });
  };
  const status = async (options: Reporting) => {
    const config = configOf(false, options);
    const wantedOnly = (options.account ?? options.product) !== undefined;
    const { statusCommand } = await import("./status.ts");
    return statusCommand(config, io, { json: options.json, wantedOnly });
  };
  reporting(program.command("sync"))
    .addOption(only())
    .description("fetch what is missing, up to now; run it from cron")
    .addHelpText("after", syncHelp)
    .action(exitWith(sync));
  reporting(program.command("plan"))
    .addOption(only())
    .description("show what sync would fetch; asks the exchange nothing but its time")
    .action(exitWith(plan));
  reporting(program.command("status"))
    .description("show through when each ledger is complete, and what is missing or lost")
    .addHelpText("after", statusHelp)
    .action(exitWith(status));
}

function addReconcileCommand(
  program: Command,
  { io, readEnvironment }: ProgramDeps,
  exitWith: ExitWith,
): void {
  const reconcile = async (options: Reporting & ReconcileFlags) => {
    const config = narrowed(readConfig(readEnvironment(), { credentials: false }), {
      accounts: options.account ?? [],
      productTypes: options.product ?? [],
    });
    const { acceptanceOf, reconcileCommand } = await import("./reconcile.ts");
    return reconcileCommand(config, io, {
      json: options.json,
      full: options.full,
      accept: acceptanceOf(options.accept, options.note),
      accounts: options.account,
      productTypes: options.product,
    });
  };
  reporting(program.command("reconcile"))
    .description("hold the ledger against itself, and list what does not add up")
    .option("--full", "check all bills again, not only what changed", false)
    .option("--accept <number>", "sign a break off; its record stays")
    .option("--note <text>", "why it is as it is; goes with --accept")
    .action(exitWith(reconcile));
}

type ReconcileFlags = {
  readonly full: boolean;
  readonly accept?: string;
  readonly note?: string;
};

type Reporting = {
  readonly json: boolean;
  readonly account?: string[];
  readonly product?: string[];
  readonly only?: string[];
};

const only = () => new Option("--only <part...>", "these parts only: bills, ltv, symbols");

const reporting = (command: Command): Command =>
  command
    .addOption(accountOption())
    .addOption(new Option("--product <type...>", "these product types only"))
    .addOption(jsonOption("a table"));

const accountOption = () => new Option("--account <name...>", "these accounts only");
const jsonOption = (otherwise: string) =>
  new Option("--json", "print the result as JSON").default(false, otherwise);

function addDatabaseCommands(
  program: Command,
  { io, readEnvironment }: ProgramDeps,
  exitWith: ExitWith,
): void {
  const readDatabaseConfig = () => readConfig(readEnvironment(), { credentials: false });
  const migrate = async () => {
    const config = readDatabaseConfig();
    const { migrateCommand } = await import("./database.ts");
    return migrateCommand(config, io);
  };
  const db = async () => {
    const config = readDatabaseConfig();
    const { databaseCommand } = await import("./database.ts");
    return databaseCommand(config, io);
  };
  const doctor = async (options: Pick<Reporting, "json" | "account">) => {
    const { doctorCommand } = await import("./doctor/doctor.ts");
    return doctorCommand(readEnvironment, io, options);
  };
  program
    .command("doctor")
    .description("try all that sync needs; say what is wrong, and what to do about it")
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
    .description("print the database's address and keep the embedded Postgres up until Ctrl-C")
    .action(exitWith(db));
}

function addSandboxCommands(
  program: Command,
  { io, readEnvironment }: ProgramDeps,
  exitWith: ExitWith,
): void {
  const sandbox = async (options: { port: number; seed: string }) => {
    const { sandboxCommand } = await import("./sandbox.ts");
    return sandboxCommand(io, options);
  };
  const demo = async () => {
    const { demoCommand } = await import("./demo.ts");
    return demoCommand(readEnvironment(), io);
  };
  program
    .command("sandbox")
    .description("run a sandbox exchange until Ctrl-C; prints the lines for .env")
    .option("--port <port>", "0 takes a free one", portOf, 0)
    .option("--seed <text>", "the same seed gives the same ledger", "1")
    .action(exitWith(sandbox));
  program
    .command("demo")
    .description("sync a sandbox exchange into an embedded Postgres and show the result")
    .action(exitWith(demo));
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("It is not a port from 0 to 65535.");
}
