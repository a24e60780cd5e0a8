import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { databaseCommand, migrateCommand } from "./commands/database.ts";
import { demoCommand } from "./commands/demo.ts";
import type { ExitCode, Io } from "./commands/io.ts";
import { planCommand } from "./commands/plan.ts";
import { sandboxCommand } from "./commands/sandbox.ts";
import { statusCommand } from "./commands/status.ts";
import { syncCommand } from "./commands/sync.ts";
import { type Config, type Environment, narrowed, readConfig } from "./config.ts";
import { explained } from "./db/database-errors.ts";
import {
  AccountHeldError,
  messageOf,
  ReportableError,
  StoppedError,
  UsageError,
} from "./errors.ts";

const stop = new AbortController();
const io: Io = { out: process.stdout, err: process.stderr, signal: stop.signal };

/** What is set for the process wins over what stands in .env. */
function readEnvironment(): Environment {
  const file = existsSync(".env") ? parseEnv(readFileSync(".env", "utf8")) : {};
  return { ...file, ...process.env };
}

type Narrowing = { readonly account?: string[]; readonly product?: string[] };

const configOf = (credentials: boolean, { account, product }: Narrowing = {}): Config =>
  narrowed(readConfig(readEnvironment(), { credentials }), {
    accounts: account ?? [],
    productTypes: product ?? [],
  });

/** Runs one command and remembers its exit code. */
const run =
  <Args extends unknown[]>(command: (...args: Args) => Promise<ExitCode>) =>
  async (...args: Args): Promise<void> => {
    process.exitCode = await command(...args);
  };

const jsonOption = () => new Option("--json", "print the result as JSON").default(false);
const accountOption = () => new Option("--account <name...>", "these accounts only");
const productOption = () => new Option("--product <type...>", "these product types only");

type Reporting = Narrowing & { readonly json: boolean };

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("It is not a port from 0 to 65535.");
}

function program(): Command {
  const bills = new Command("bill-sync")
    .description("Keeps the whole history of a futures account's bills in Postgres.")
    .exitOverride()
    .showHelpAfterError("(--help shows what there is)");
  bills
    .command("sync")
    .description("fetch what is missing, up to now; run it from cron")
    .addOption(accountOption())
    .addOption(productOption())
    .addOption(jsonOption())
    .action(run((options: Reporting) => syncCommand(configOf(true, options), io, options)));
  bills
    .command("plan")
    .description("show what sync would fetch; asks the exchange nothing but its time")
    .addOption(accountOption())
    .addOption(productOption())
    .addOption(jsonOption())
    .action(run((options: Reporting) => planCommand(configOf(false, options), io, options)));
  bills
    .command("status")
    .description("show through when each ledger is complete, and what is missing or lost")
    .addOption(accountOption())
    .addOption(productOption())
    .addOption(jsonOption())
    .action(run((options: Reporting) => statusCommand(configOf(false, options), io, options)));
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

/** The first Ctrl-C finishes the page in hand, the second ends at once. Both are safe. */
function stopOnSignals(): void {
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(1);
      stop.abort(new StoppedError("stopped on request"));
    });
  }
}

/** One message and an exit code for everything that a command throws. */
function fail(thrown: unknown): ExitCode {
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
  const error = explained(thrown);
  const isKnown = error instanceof ReportableError;
  const text = isKnown
    ? messageOf(error)
    : `defect: ${thrown instanceof Error ? thrown.stack : thrown}`;
  io.err.write(`${text}\n`);
  if (error instanceof UsageError) return 2;
  return error instanceof AccountHeldError ? 3 : 1;
}

stopOnSignals();
try {
  await program().parseAsync();
} catch (error) {
  process.exitCode = fail(error);
}
// What is still waiting, the slots of a rate limit for one, is of no use any more.
process.exit();
