import { type Command, Option } from "commander";
import { selectionOf } from "../../app/selection.ts";
import { readConfig } from "../../config/config.ts";

import type { ServeOptions } from "../serve.ts";

import { metricsHelp, serveHelp } from "./help.ts";
import {
  type ExitWith,
  jsonOption,
  maxAgeOption,
  type ProgramDeps,
  portOf,
  productOption,
} from "./options.ts";

/** `serve`, and the commands that belong to it. */
export function addServingCommands(
  program: Command,
  { io, readEnvironment }: ProgramDeps,
  exitWith: ExitWith,
): void {
  const serve = async (options: ServeOptions) => {
    const config = readConfig(readEnvironment(), { credentials: false });
    const { serveCommand } = await import("../serve.ts");
    return serveCommand(config, io, options);
  };
  const metrics = async (options: { readonly textfile?: string }) => {
    const config = readConfig(readEnvironment(), { credentials: false });
    const { metricsCommand } = await import("../metrics.ts");
    return metricsCommand(config, io, options);
  };
  program
    .command("metrics")
    .description("print metrics of what is stored, in the format of Prometheus")
    .option("--textfile <file>", "write to this file, for node_exporter; - is standard output")
    .addHelpText("after", metricsHelp)
    .action(exitWith(metrics));
  program
    .command("serve")
    .description("answer the exchange's API from what is stored, until Ctrl-C")
    .option("--port <port>", "0 for any free port", portOf, 8787)
    .option("--host <address>", "where to listen; 0.0.0.0 is every address", "127.0.0.1")
    .addOption(maxAgeOption("how old the newest reading may be"))
    .option("--page-host <name...>", "show the page under the name of a proxy that authenticates")
    .addHelpText("after", serveHelp)
    .action(exitWith(serve));
  addKeyCommands(program, { io, readEnvironment }, exitWith);
}

type NewKeyWords = {
  readonly account?: readonly string[];
  readonly product?: readonly string[];
  readonly allowGaps: boolean;
  readonly trim: boolean;
  readonly json: boolean;
};

function addKeyCommands(
  program: Command,
  { io, readEnvironment }: Pick<ProgramDeps, "io" | "readEnvironment">,
  exitWith: ExitWith,
): void {
  const configOf = () => readConfig(readEnvironment(), { credentials: false });
  const add = async (name: string, words: NewKeyWords) => {
    const { productTypes } = selectionOf(words);
    const { addKey } = await import("../keys.ts");
    const gaps = words.allowGaps ? "allow" : words.trim ? "trim" : "refuse";
    const { json, account: accounts = [] } = words;
    return addKey(configOf(), io, { name, accounts, productTypes, gaps, json });
  };
  const list = async (options: { readonly json: boolean }) => {
    const { listKeys } = await import("../keys.ts");
    return listKeys(configOf(), io, options);
  };
  const remove = async (name: string) => {
    const { removeKey } = await import("../keys.ts");
    return removeKey(configOf(), io, name);
  };
  const keys = program.command("keys").description("the keys with which clients read from serve");
  keys
    .command("add <name>")
    .description("make a key that reads one account; it is shown only once")
    .option("--account <name...>", "the account that it reads; optional if there is only one")
    .addOption(productOption())
    .addOption(
      new Option(
        "--trim",
        "answer requests that begin before the stored history, without that part",
      )
        .default(false, "refuse them")
        .conflicts("allowGaps"),
    )
    .option("--allow-gaps", "answer even if time was lost or is not read yet", false)
    .addOption(jsonOption("lines"))
    .action(exitWith(add));
  keys
    .command("list")
    .description("list the keys, without their secrets")
    .addOption(jsonOption("a table"))
    .action(exitWith(list));
  keys
    .command("remove <name>")
    .description("remove a key; a running server refuses it within a second")
    .action(exitWith(remove));
}
