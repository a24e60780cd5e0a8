import { messageOf, ReportableError } from "../errors.ts";
import { type OpenSandbox, openSandbox, sandboxEnvironment } from "../sandbox/sandbox.ts";
import { type ExitCode, type Io, print, tell } from "./io.ts";
import { stopped } from "./stopped.ts";

export type SandboxCommandOptions = { readonly port: number; readonly seed: string };

/** `sandbox`: an exchange to try things on, until Ctrl-C. */
export async function sandboxCommand(io: Io, options: SandboxCommandOptions): Promise<ExitCode> {
  await using sandbox = await open(options);
  // A name of its own: the ledger of a real account must not be taken for read already.
  print(io, `EXCHANGE_ACCOUNT=sandbox\n${sandboxEnvironment(sandbox).trimEnd()}`);
  tell(io, "the sandbox exchange is up until Ctrl-C; put these lines into .env");
  await stopped(io.signal);
  return 0;
}

async function open(options: SandboxCommandOptions): Promise<OpenSandbox> {
  try {
    return await openSandbox(options);
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error && error.syscall === "listen")) throw error;
    throw new ReportableError(
      `port ${options.port} cannot be used (${messageOf(error)}); choose another, or 0 for a free one`,
    );
  }
}
