import { type ExitCode, type Io, print, tell } from "../app/io.ts";
import { stopped } from "../app/stopped.ts";
import { messageOf, ReportableError, UsageError } from "../errors.ts";
import { drawFaultSchedule } from "../sandbox/fault-draw.ts";
import { describeFault } from "../sandbox/fault-schedule.ts";
import { withLateAndRestated } from "../sandbox/ledger-faults.ts";
import { seededRandom } from "../sandbox/random.ts";
import {
  type OpenSandbox,
  openSandbox,
  type SandboxOptions,
  sandboxEnvironment,
} from "../sandbox/sandbox.ts";

export type SandboxCommandOptions = {
  readonly port: number;
  readonly seed: string;
  /** The faults' seed. Default none. */
  readonly faults?: string;
  /** The share of requests for bills at which a fault begins. Default 0.05. */
  readonly faultRate?: number;
};

// More than the bills of a year take; behind them the exchange is sound.
const faultyRequests = 10_000;
const faultRateDefault = 0.05;

/** `sandbox`: an exchange to try things on, until Ctrl-C. */
export async function sandboxCommand(io: Io, options: SandboxCommandOptions): Promise<ExitCode> {
  await using sandbox = await open(io, options);
  // A name of its own: the ledger of a real account must not be taken for read already.
  print(io, `EXCHANGE_ACCOUNT=sandbox\n${sandboxEnvironment(sandbox).trimEnd()}`);
  tell(io, "the sandbox exchange is up until Ctrl-C; put these lines into .env");
  await stopped(io.signal);
  return 0;
}

async function open(io: Io, options: SandboxCommandOptions): Promise<OpenSandbox> {
  const { port, seed } = options;
  const faults = faultsOf(io, options);
  try {
    return await openSandbox({ port, seed, ...faults });
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error && error.syscall === "listen")) throw error;
    throw new ReportableError(
      `port ${port} cannot be used (${messageOf(error)}); choose another, or 0 for a free one`,
    );
  }
}

/** The faults that are asked for; those of a request are told when they happen. */
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
    "of each product type some bills are restated in a minute, and some appear late: by a second, an hour, 8 days",
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
