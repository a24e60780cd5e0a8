import { type Command, Option } from "commander";
import { readConfig } from "../../config/config.ts";
import { hourMs } from "../../contract/time.ts";
import type { ServeOptions } from "../serve.ts";
import { serveHelp } from "./help.ts";
import { durationOf, type ExitWith, type ProgramDeps, portOf } from "./options.ts";

/** `serve`, and what goes with it. */
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
  program
    .command("serve")
    .description("answer the exchange's API from what is stored, until Ctrl-C")
    .option("--port <port>", "0 takes a free one", portOf, 8787)
    .option("--host <address>", "where to listen; 0.0.0.0 is every address", "127.0.0.1")
    .addOption(
      new Option("--max-age <duration>", "how old the newest reading may be: 90m, 3h, 2d")
        .argParser(durationOf)
        .default(3 * hourMs, "3h"),
    )
    .addHelpText("after", serveHelp)
    .action(exitWith(serve));
}
