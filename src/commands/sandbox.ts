import { InvalidArgumentError, Option } from "commander";
import { minuteMs, secondMs } from "../contract/time.ts";
import { messageOf, ReportableError } from "../errors.ts";
import { alwaysClassic, type ModeChange } from "../sandbox/modes.ts";
import { type OpenSandbox, openSandbox, sandboxEnvironment } from "../sandbox/sandbox.ts";
import { type ExitCode, type Io, print, stopped, tell } from "./io.ts";
import { type Define, portOf } from "./options.ts";

/** The kinds of account that the sandbox exchange can have. */
export type SandboxMode = "classic" | "unified" | "upgrading" | "demo";

export type SandboxCommandOptions = {
  readonly port: number;
  readonly seed: string;
  /** The kinds of the accounts, one account of each. Default one classic account. */
  readonly mode?: readonly SandboxMode[];
  /** When an upgrading account's upgrade begins, in s after the start. Default 0. */
  readonly upgradeAfter?: number;
};

/** `sandbox`: an exchange for trials, until Ctrl-C. */
export async function sandboxCommand(io: Io, options: SandboxCommandOptions): Promise<ExitCode> {
  await using sandbox = await open(options);
  if (isOneAccount(options)) {
    // Its own name: a real account's stored ledger must not pass for this account's.
    print(io, `EXCHANGE_ACCOUNT=sandbox\n${sandboxEnvironment(sandbox).trimEnd()}`);
    tell(io, "the sandbox exchange is up until Ctrl-C; put these lines into .env");
  } else {
    print(io, accountsFile(sandbox));
    tell(
      io,
      "the sandbox exchange is up until Ctrl-C; put this into a file, name it in " +
        `ACCOUNTS_FILE, and set EXCHANGE_BASE_URL=${sandbox.url}`,
    );
  }
  await stopped(io.signal);
  return 0;
}

/** Whether variables of `.env` can describe the account: they have none for demo keys. */
const isOneAccount = ({ mode = ["classic"] }: SandboxCommandOptions): boolean =>
  mode.length === 1 && mode[0] !== "demo";

/** The content of an ACCOUNTS_FILE for the sandbox's accounts. */
const accountsFile = ({ accounts }: OpenSandbox): string =>
  JSON.stringify(
    {
      accounts: accounts.map(({ name, apiKey, apiSecret, apiPassphrase }) => ({
        name,
        apiKey,
        apiSecret,
        apiPassphrase,
        ...(isDemo(name) && { demo: true }),
      })),
    },
    undefined,
    2,
  );

// An upgrade takes about a minute. Source: the exchange's users.
const upgradeMs = minuteMs;

/** The accounts' kinds over time. Accounts are named after their kind, and numbered. */
function accountsOf(options: SandboxCommandOptions) {
  if (isOneAccount(options)) return { modes: changesOf(options.mode?.[0] ?? "classic", options) };
  const modes = new Map(
    (options.mode ?? []).map((mode, index): [string, SandboxMode] => [
      `${mode}-${index + 1}`,
      mode,
    ]),
  );
  return {
    accountNames: [...modes.keys()],
    modesOf: (name: string) => changesOf(modes.get(name) ?? "classic", options),
    isDemoKey: isDemo,
  };
}

const isDemo = (name: string): boolean => name.startsWith("demo-");

function changesOf(
  mode: SandboxMode,
  { upgradeAfter = 0 }: SandboxCommandOptions,
): readonly ModeChange[] {
  const upgradeAt = Date.now() + upgradeAfter * secondMs;
  switch (mode) {
    case "classic":
    case "demo":
      return alwaysClassic;
    case "unified":
      return [{ at: Number.NEGATIVE_INFINITY, mode }];
    case "upgrading":
      return [
        ...alwaysClassic,
        { at: upgradeAt, mode },
        { at: upgradeAt + upgradeMs, mode: "unified" },
      ];
    default:
      return mode satisfies never;
  }
}

async function open(options: SandboxCommandOptions): Promise<OpenSandbox> {
  const { port, seed } = options;
  try {
    return await openSandbox({ port, seed, ...accountsOf(options) });
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error && error.syscall === "listen")) throw error;
    throw new ReportableError(
      `port ${port} cannot be used (${messageOf(error)}); choose another, or 0 for a free one`,
    );
  }
}

const help = `
A classic account is served by the v2 API, a unified one by v3, and each is
refused by the other. An upgrading one begins as classic, is in transit for a
minute, and is unified then. A demo one has a key for demo trading. If several
are named, such as --mode classic unified upgrading demo, they are printed as a
file for ACCOUNTS_FILE.`;

export const define: Define = (sandbox, { io }, exitWith) => {
  sandbox
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
    .addHelpText("after", help)
    .action(exitWith((options: SandboxCommandOptions) => sandboxCommand(io, options)));
};

function secondsOf(text: string): number {
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It is not a whole number of seconds.");
}
