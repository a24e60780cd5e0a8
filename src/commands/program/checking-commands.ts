import type { Command } from "commander";
import { selectionOf } from "../../app/selection.ts";
import { readConfig } from "../../config/config.ts";
import type { ReportWords } from "../report/report.ts";
import { replayHelp, reportHelp, verifyHelp } from "./help.ts";
import {
  accountOption,
  type ExitWith,
  narrowedConfig,
  type ProgramDeps,
  productOption,
  type Reporting,
  reporting,
} from "./options.ts";

/** The commands that compare what is stored with what the exchange serves. */
export function addRepairCommands(
  program: Command,
  { io, readEnvironment }: ProgramDeps,
  exitWith: ExitWith,
): void {
  const verify = async (options: Reporting & VerifyRange) => {
    const config = narrowedConfig(readEnvironment, true, options);
    const { verifyCommand } = await import("../verify/verify.ts");
    return verifyCommand(config, io, options);
  };
  const replay = async (options: Reporting & Accepting) => {
    const { signOffOf, replayCommand } = await import("../replay.ts");
    const accept = signOffOf(options.accept, options.note);
    const config = readConfig(readEnvironment(), { credentials: false });
    const { json } = options;
    return replayCommand(config, io, { json, accept, selection: selectionOf(options) });
  };
  reporting(
    program
      .command("verify")
      .requiredOption("--from <time>", "the start, inclusive: 2026-11-01, or 2026-11-01T12:00Z")
      .requiredOption("--to <time>", "the end, exclusive")
      .option("--heal", "store missing bills, and restate changed ones", false),
  )
    .description("read a span again and compare it with what is stored")
    .addHelpText("after", verifyHelp)
    .action(exitWith(verify));
  reporting(program.command("replay"))
    .description("try the rows of rejected_bills again after an upgrade")
    .option("--accept <digests>", "accept these rows for good: their digests, separated by commas")
    .option("--note <text>", "why they are accepted; required with --accept")
    .addHelpText("after", replayHelp)
    .action(exitWith(replay));
}

type Accepting = { readonly accept?: string; readonly note?: string };

type VerifyRange = { readonly from: string; readonly to: string; readonly heal: boolean };

/** The command that checks the ledger against itself. */
export function addReconcileCommand(
  program: Command,
  { io, readEnvironment }: ProgramDeps,
  exitWith: ExitWith,
): void {
  const reconcile = async (options: Reporting & ReconcileFlags) => {
    const config = readConfig(readEnvironment(), { credentials: options.repair });
    const { reconcileCommand } = await import("../reconcile/reconcile.ts");
    const { decisionsOf, listingOf } = await import("../reconcile/decisions.ts");
    return reconcileCommand(config, io, {
      json: options.json,
      full: options.full,
      repair: options.repair,
      ...decisionsOf(options),
      list: listingOf(options),
      selection: selectionOf(options),
    });
  };
  reporting(program.command("reconcile"))
    .description("check the ledger against itself, and list what does not add up")
    .option("--full", "check and count all bills again, not only what changed", false)
    .option("--repair", "read the time around each break again, and write what differs", false)
    .option("--list", "list the open breaks and check nothing", false)
    .option("--all", "with --list: include breaks that are signed off or resolved", false)
    .option("--accept <numbers>", "sign breaks off: 3 or 3,4,7-9; they stay on record")
    .option("--reopen <numbers>", "take sign-offs back")
    .option("--note <text>", "the reason; required with --accept")
    .option("--by <name>", "who signs off or reopens")
    .action(exitWith(reconcile));
}

type ReconcileFlags = {
  readonly full: boolean;
  readonly repair: boolean;
  readonly list: boolean;
  readonly all: boolean;
  readonly accept?: string;
  readonly reopen?: string;
  readonly note?: string;
  readonly by?: string;
};

/** The command for a month's close. */
export function addReportCommand(
  program: Command,
  { io, readEnvironment }: ProgramDeps,
  exitWith: ExitWith,
): void {
  const report = async (words: ReportWords) => {
    const { reportCommand, reportOptions } = await import("../report/report.ts");
    const options = reportOptions(words);
    return reportCommand(readConfig(readEnvironment(), { credentials: false }), io, options);
  };
  program
    .command("report")
    .description("write a month's close for an auditor: coverage, rollforward, breaks and digests")
    .requiredOption("--month <month>", "the month, in UTC: 2026-10")
    .addOption(accountOption())
    .addOption(productOption())
    .option("--format <format>", "text, html or json", "text")
    .addHelpText("after", reportHelp)
    .action(exitWith(report));
}
