import { Option } from "commander";
import { UsageError } from "../errors.ts";
import { readConfig } from "../roster/config.ts";
import { selectionOf } from "../roster/roster.ts";
import { metricsCommand } from "./metrics.ts";
import { type Define, offsetOf, pageOf, type Reporting, reporting } from "./options.ts";
import { statusCommand } from "./status/status.ts";

const help = `
For each product type:
  complete through  up to this time no bill is missing that the exchange showed
                    when the time was read
  coverage          the share that was read and stored of all the time since
                    the start of the first sync's 90 days
  settling          the newest time that was read; the next sync reads it
                    again, for bills that appear late
  behind            how old the newest time is that was read
  gaps              time that an interrupted or failed sync has not read; the
                    next sync reads it
  lost              time that no sync read before the exchange deleted its
                    bills, after 90 days
  expires in        when the oldest time that is not complete begins to be lost
The time is the exchange's: what it told the last sync, plus the time since.
A retired or paused account has one line that says so. No sync reads it. The
exchange deletes the bills of a paused account after 90 days even so.
With more than a hundred ledgers, only sums and the worst hundred are shown,
unless --limit says otherwise; --json has all, or the worst 10,000.
Above the table stand the findings, worst first, each with the command that
closes it; below it, how old the symbols, the contracts and each risk unit's
loan-to-value are.

--check exits with 1 if a finding is critical or a warning. HEALTH_MAX_AGE sets
how far behind a ledger may be, HEALTH_MAX_LTV how high a loan-to-value.

--format prometheus has how many findings there are of each kind and severity,
through when all is complete, how many bills are stored, loans, and the last
runs. A value that is not known has no sample. --output
replaces a file whole or not at all, for node_exporter's textfile collector; its
name must end in .prom. If the database is away, the file stays as it was. If
the rows of some accounts cannot be read, it is written without them. The exit
code is 1 in both cases. serve has the same at /metrics.`;

type StatusWords = Reporting & {
  readonly format?: "prometheus";
  readonly output?: string;
  readonly check: boolean;
  readonly limit?: number;
  readonly offset?: number;
};

export const define: Define = (command, { io, readEnvironment }, exitWith) => {
  const status = (options: StatusWords) => {
    const { format, output } = options;
    if (format === "prometheus")
      return metricsCommand(readConfig(readEnvironment(), { credentials: false }), io, { output });
    if (output !== undefined) throw new UsageError("--output goes with --format prometheus");
    const configWith = (accounts: readonly string[] | undefined) =>
      readConfig(readEnvironment(), { credentials: false, accounts });
    const { json, check, limit, offset } = options;
    const selection = selectionOf(options);
    return statusCommand(configWith, io, { json, selection, check, limit, offset });
  };
  reporting(command)
    .option("--limit <number>", "show at most this many ledgers, the worst first", pageOf)
    .option("--offset <number>", "skip this many", offsetOf)
    .option("--check", "exit with 1 if a finding is critical or a warning", false)
    .addOption(
      new Option("--format <format>", "print metrics of all accounts, for Prometheus")
        .choices(["prometheus"])
        .conflicts(["json", "account", "product", "limit", "offset", "check"]),
    )
    .option("--output <file>", "with --format: replace this file; - is standard output")
    .addHelpText("after", help)
    .action(exitWith(status));
};
