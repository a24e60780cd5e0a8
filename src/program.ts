import { existsSync } from "node:fs";
import { parseEnv } from "node:util";
import { Command, CommanderError } from "commander";
import type { Environment } from "./accounts/settings.ts";
import {
  answer,
  type ExitCode,
  fail,
  note,
  type Process,
  print,
  printErrorJson,
  stopped,
  type Wings,
} from "./commands/io.ts";
import { npmHint, refuseSwallowed } from "./commands/npm-options.ts";
import type { Define, Program } from "./commands/options.ts";
import { messageOf, UsageError } from "./lib/errors.ts";
import { withShortWords } from "./lib/printable.ts";
import { readTextFile } from "./lib/text-file.ts";
import { programVersion } from "./lib/version.ts";

type Load = () => Promise<{ readonly define: Define }>;
type Entry = readonly [about: string, ...files: readonly [Load, ...Load[]]];

/**
 * The files of each command have its options and its work. Only those of the typed one are loaded: all take half a
 * second. A wing goes with its folder and the lines here that name it.
 */
const entries: Readonly<Record<string, Entry>> = {
  demo: ["sync a sandbox exchange and show the result", () => import("./wings/sandbox/demo.ts")],
  doctor: [
    "check everything that sync needs; say what to do",
    () => import("./commands/doctor.ts"),
  ],
  sync: ["fetch what is unread, up to now; run it from cron", () => import("./commands/sync.ts")],
  status: ["show what is wrong, and how far each ledger is", () => import("./commands/status.ts")],
  verify: [
    "read a span again and compare it with what is stored",
    () => import("./commands/verify.ts"),
  ],
  reconcile: ["check that the ledger adds up", () => import("./commands/reconcile.ts")],
  breaks: ["list, accept or reopen breaks and rejected rows", () => import("./commands/breaks.ts")],
  export: ["write the stored bills for another program", () => import("./commands/export.ts")],
  report: ["write a month's close for an auditor", () => import("./commands/report.ts")],
  serve: [
    "answer the exchange's API from what is stored",
    () => import("./wings/serve/command.ts"),
  ],
  accounts: ["list, retire or rename accounts", () => import("./commands/accounts.ts")],
  "mirror-keys": [
    "add, list or remove the keys of clients of serve",
    () => import("./wings/serve/mirror/mirror-keys.ts"),
  ],
  types: ["list the categories of business types, or map one", () => import("./commands/types.ts")],
  db: [
    "migrate, back up or restore the database",
    () => import("./commands/db.ts"),
    () => import("./wings/backup/command.ts"),
  ],
  worker: [
    "sync accounts from the queue, which --every fills",
    () => import("./wings/fleet/worker.ts"),
  ],
  sandbox: ["run a sandbox exchange until Ctrl-C", () => import("./wings/sandbox/command.ts")],
};

/** What commands use of wings that are not their own. */
export const wings: Wings = {
  embedded: () => import("./wings/embedded/embedded.ts"),
  queue: () => import("./wings/fleet/queue-status.ts"),
  metrics: () => import("./wings/serve/registry.ts"),
  mirrorKeys: () => import("./wings/serve/mirror/mirror-keys.ts"),
  recovery: () => import("./wings/recovery/recover.ts"),
  serve: () => import("./wings/serve/command.ts"),
};

/**
 * Runs a command line to its end: what is thrown becomes one message and an exit code.
 * @param environment of the process; it wins over the .env of the current folder.
 */
export async function runCommandLine(
  args: readonly string[],
  process: Process,
  environment: Environment,
): Promise<ExitCode> {
  const io = { ...process, wings };
  let exitCode: ExitCode = 0;
  // Called only by a command that needs it: help is shown even if the environment is invalid.
  const readEnvironment = () => ({ ...readEnvFile(), ...environment });
  const said = new Set<string>();
  // The schema of settings is loaded for a command alone.
  const isCommand = args.some((word) => Object.hasOwn(entries, word));
  const settings = isCommand ? await import("./accounts/config.ts") : undefined;
  const has: Program = {
    ...{ io, readEnvironment },
    config(asked) {
      if (settings === undefined) throw new Error("defect: no command was typed");
      const config = settings.readConfig(readEnvironment(), { credentials: false, ...asked });
      // A worker reads it anew for each round.
      for (const warning of config.warnings.filter((text) => !said.has(text))) note(io, warning);
      for (const warning of config.warnings) said.add(warning);
      return config;
    },
    runs:
      (command) =>
      async (...words) => {
        const result = await command(...words);
        await using running = result.running;
        exitCode = answer(io, result);
        if (running !== undefined) await stopped(io.signal);
      },
  };
  try {
    const program = await programOf(has, args);
    refuseSwallowed(program, args, io.npm);
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) return fail(io, error);
    if (error.exitCode === 0) return 0;
    const wrongUsage = new UsageError(error.message.replace(/^error: /, ""));
    if (io.isJson) printErrorJson(io, wrongUsage, 2);
    return 2;
  }
  return exitCode;
}

// Node leaves a line of YAML or JSON out in silence. With a colon, the name is told as one that sets nothing.
const nameBeforeColon = /^[ \t"'{-]*([A-Z_]+)["']?[ \t]*:/gm;

function readEnvFile(): Environment {
  try {
    if (!existsSync(".env")) return {};
    const text = readTextFile(".env");
    const unread = [...text.matchAll(nameBeforeColon)].map(([, name]) => [`${name}:`, "unread"]);
    return { ...Object.fromEntries(unread), ...parseEnv(text) };
  } catch (error) {
    throw new UsageError(`.env cannot be read (${messageOf(error)}); correct it or remove it`);
  }
}

/**
 * All commands; arguments and options of those that are named.
 * @param names the words of a command line, or names of commands.
 */
export async function programOf(
  has: Program,
  names: readonly string[] = Object.keys(entries),
): Promise<Command> {
  const program = openProgram(has.io);
  for (const [name, [about, ...files]] of Object.entries(entries)) {
    const command = program.command(name).description(about);
    if (!names.includes(name)) continue;
    for (const load of files) (await load()).define(command, has);
  }
  return program;
}

function openProgram(io: Process): Command {
  return new Command("bill-sync")
    .description("Keeps the whole history of a futures account's bills in Postgres.")
    .version(programVersion(), "--version", "print the version")
    .exitOverride()
    .configureOutput({
      // commander ends each text with a line end; print and note add their own.
      writeOut: (text) => print(io, text.replace(/\n$/, "")),
      writeErr: (text) => note(io, withShortWords(text).replace(/\n$/, "")),
    })
    .showHelpAfterError(
      `(--help shows what there is${io.npm === undefined ? "" : npmHint(io.npm)})`,
    )
    .addHelpText(
      "after",
      `
Exit codes: 0 done and complete, 1 not complete, 2 wrong usage or configuration,
3 another run holds the account.`,
    );
}
