import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { type Config, type Environment, narrowed, readConfig } from "../config.ts";
import { databaseCommand, migrateCommand } from "./database.ts";
import { demoCommand } from "./demo.ts";
import type { ExitCode, Io } from "./io.ts";
import { planCommand } from "./plan.ts";
import { sandboxCommand } from "./sandbox.ts";
import { statusCommand, statusHelp } from "./status.ts";
import { syncCommand } from "./sync.ts";
import { syncHelp } from "./sync-summary.ts";

export type ProgramDeps = {
  readonly io: Io;
  /** Read only by a command that needs it: help is shown whatever the environment holds. */
  readonly readEnvironment: () => Environment;
};

type Narrowing = { readonly account?: string[]; readonly product?: string[] };
type Reporting = Narrowing & { readonly json: boolean };

const exitCodesHelp = `
Exit codes: 0 done and complete, 1 not complete, 2 wrong usage or configuration,
3 another run holds the account.`;

/**
 * Runs what was typed.
 * @throws whatever stopped the command; wrong usage is told and comes back as its exit code.
 */
export async function runProgram(args: readonly string[], deps: ProgramDeps): Promise<ExitCode> {
  let exitCode: ExitCode = 0;
  const run =
    <Args extends unknown[]>(command: (...args: Args) => Promise<ExitCode>) =>
    async (...args: Args): Promise<void> => {
      exitCode = await command(...args);
    };
  try {
    await program(deps, run).parseAsync(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? 0 : 2;
  }
  return exitCode;
}

type Run = <Args extends unknown[]>(
  command: (...args: Args) => Promise<ExitCode>,
) => (...args: Args) => Promise<void>;

function program({ io, readEnvironment }: ProgramDeps, run: Run): Command {
  const configOf = (credentials: boolean, { account, product }: Narrowing = {}): Config =>
    narrowed(readConfig(readEnvironment(), { credentials }), {
      accounts: account ?? [],
      productTypes: product ?? [],
    });
  const bills = new Command("bill-sync")
    .description("Keeps the whole history of a futures account's bills in Postgres.")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out.write(text),
      writeErr: (text) => io.err.write(text),
    })
    .showHelpAfterError("(--help shows what there is)")
    .addHelpText("after", exitCodesHelp);
  reporting(bills.command("sync"))
    .description("fetch what is missing, up to now; run it from cron")
    .addHelpText("after", syncHelp)
    .action(run((options: Reporting) => syncCommand(configOf(true, options), io, options)));
  reporting(bills.command("plan"))
    .description("show what sync would fetch; asks the exchange nothing but its time")
    .action(run((options: Reporting) => planCommand(configOf(false, options), io, options)));
  reporting(bills.command("status"))
    .description("show through when each ledger is complete, and what is missing or lost")
    .addHelpText("after", statusHelp)
    .action(
      run((options: Reporting) =>
        statusCommand(configOf(false, options), io, {
          json: options.json,
          wantedOnly: (options.account ?? options.product) !== undefined,
        }),
      ),
    );
  bills
    .command("migrate")
    .description("create or update the tables; sync does it too")
    .action(run(() => migrateCommand(configOf(false), io)));
  bills
    .command("db")
    .description("print the database's address and keep the embedded Postgres up until Ctrl-C")
    .action(run(() => databaseCommand(configOf(false), io)));
  bills
    .command("sandbox")
    .description("run a sandbox exchange until Ctrl-C; prints the lines for .env")
    .option("--port <port>", "0 takes a free one", portOf, 0)
    .option("--seed <text>", "the same seed gives the same ledger", "1")
    .action(run((options: { port: number; seed: string }) => sandboxCommand(io, options)));
  bills
    .command("demo")
    .description("sync a sandbox exchange into an embedded Postgres and show the result")
    .action(run(() => demoCommand(readEnvironment(), io)));
  return bills;
}

const reporting = (command: Command): Command =>
  command
    .addOption(new Option("--account <name...>", "these accounts only"))
    .addOption(new Option("--product <type...>", "these product types only"))
    .addOption(new Option("--json", "print the result as JSON").default(false, "a table"));

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("It is not a port from 0 to 65535.");
}
