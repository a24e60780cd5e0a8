import { type ExitCode, type Io, print, tell } from "../app/io.ts";
import { stopped } from "../app/stopped.ts";
import { minuteMs, secondMs } from "../contract/time.ts";
import { messageOf, ReportableError, UsageError } from "../errors.ts";
import { drawFaultSchedule } from "../sandbox/fault-draw.ts";
import { describeFault } from "../sandbox/fault-schedule.ts";
import { withLateAndRestated } from "../sandbox/ledger-faults.ts";
import { alwaysClassic, type ModeChange } from "../sandbox/modes.ts";
import { seededRandom } from "../sandbox/random.ts";
import {
  type OpenSandbox,
  openSandbox,
  type SandboxOptions,
  sandboxEnvironment,
} from "../sandbox/sandbox.ts";

/** The kinds of account that the sandbox exchange can have. */
export type SandboxMode = "classic" | "unified" | "upgrading" | "demo";

export type SandboxCommandOptions = {
  readonly port: number;
  readonly seed: string;
  /** The seed of the faults. Default no faults. */
  readonly faults?: string;
  /** The share of bill requests at which a fault begins. Default 0.05. */
  readonly faultRate?: number;
  /** The kinds of the accounts, one account of each. Default one classic account. */
  readonly mode?: readonly SandboxMode[];
  /** When an upgrading account's upgrade begins, in s after the start. Default 0. */
  readonly upgradeAfter?: number;
};

// More requests than a year of bills takes. After them the exchange has no faults.
const faultyRequests = 10_000;
const faultRateDefault = 0.05;

/** `sandbox`: an exchange for trials, until Ctrl-C. */
export async function sandboxCommand(io: Io, options: SandboxCommandOptions): Promise<ExitCode> {
  await using sandbox = await open(io, options);
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

async function open(io: Io, options: SandboxCommandOptions): Promise<OpenSandbox> {
  const { port, seed } = options;
  const faults = faultsOf(io, options);
  try {
    return await openSandbox({ port, seed, ...accountsOf(options), ...faults });
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error && error.syscall === "listen")) throw error;
    throw new ReportableError(
      `port ${port} cannot be used (${messageOf(error)}); choose another, or 0 for a free one`,
    );
  }
}

/** The requested faults. Each is reported when it happens. */
function faultsOf(
  io: Io,
  options: SandboxCommandOptions,
): Pick<SandboxOptions, "faults" | "alterLedger"> | undefined {
  const { faults, faultRate = faultRateDefault } = options;
  if (faults === undefined) {
    if (options.faultRate === undefined) return undefined;
    throw new UsageError("--fault-rate goes with --faults; give the faults a seed");
  }
  const count = Math.round(faultRate * faultyRequests);
  tell(
    io,
    "some bills of each product type are restated in a minute, and some appear late: by a " +
      "second, an hour or 8 days",
  );
  return {
    alterLedger: (ledger) => withLateAndRestated(ledger, faults),
    faults: {
      schedule: drawFaultSchedule(seededRandom(faults), { requests: faultyRequests, count }),
      onFault: (fault, request) =>
        tell(io, `request ${request} for bills: ${describeFault(fault)}`),
    },
  };
}
