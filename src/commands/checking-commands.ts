import type { Command } from "commander";
import { readConfig } from "../config/config.ts";
import { replayHelp, verifyHelp } from "./help.ts";
import {
  type ExitWith,
  narrowedConfig,
  type ProgramDeps,
  type Reporting,
  reporting,
} from "./options.ts";
import { selectionOf } from "./selection.ts";

/** What holds the stored against what was served. */
export function addRepairCommands(
  program: Command,
  { io, readEnvironment }: ProgramDeps,
  exitWith: ExitWith,
): void {
  const verify = async (options: Reporting & VerifyRange) => {
    const config = narrowedConfig(readEnvironment, true, options);
    const { verifyCommand } = await import("./verify.ts");
    return verifyCommand(config, io, options);
  };
  const replay = async (options: Reporting) => {
    const config = readConfig(readEnvironment(), { credentials: false });
    const { replayCommand } = await import("./replay.ts");
    return replayCommand(config, io, { json: options.json, selection: selectionOf(options) });
  };
  reporting(
    program
      .command("verify")
      .requiredOption("--from <time>", "since when: 2026-11-01, or 2026-11-01T12:00Z")
      .requiredOption("--to <time>", "until when, not included")
      .option("--heal", "write what is missing, and restate what is changed", false),
  )
    .description("read a span again and compare it with what is stored")
    .addHelpText("after", verifyHelp)
    .action(exitWith(verify));
  reporting(program.command("replay"))
    .description("try the rows of rejected_bills again, after an upgrade")
    .addHelpText("after", replayHelp)
    .action(exitWith(replay));
}

type VerifyRange = { readonly from: string; readonly to: string; readonly heal: boolean };

/** What holds the ledger against itself. */
export function addReconcileCommand(
  program: Command,
  { io, readEnvironment }: ProgramDeps,
  exitWith: ExitWith,
): void {
  const reconcile = async (options: Reporting & ReconcileFlags) => {
    const config = readConfig(readEnvironment(), { credentials: options.repair });
    const { acceptanceOf, reconcileCommand } = await import("./reconcile.ts");
    return reconcileCommand(config, io, {
      json: options.json,
      full: options.full,
      repair: options.repair,
      accept: acceptanceOf(options.accept, options.note),
      selection: selectionOf(options),
    });
  };
  reporting(program.command("reconcile"))
    .description("hold the ledger against itself, and list what does not add up")
    .option("--full", "check all bills again, not only what changed", false)
    .option("--repair", "read the time around each break again, and write what differs", false)
    .option("--accept <number>", "sign a break off; its record stays")
    .option("--note <text>", "why it is as it is; goes with --accept")
    .action(exitWith(reconcile));
}

type ReconcileFlags = {
  readonly full: boolean;
  readonly repair: boolean;
  readonly accept?: string;
  readonly note?: string;
};
