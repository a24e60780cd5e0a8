import { Option } from "commander";
import { messageOf, ReportableError } from "../errors.ts";
import { openSandbox, sandboxEnvironment } from "../sandbox/sandbox.ts";
import type { AccountMode } from "../sync/account-state.ts";
import { type ExitCode, type Io, note, print, stopped } from "./io.ts";
import { type Define, portOf } from "./options.ts";

type SandboxWords = { readonly port: number; readonly mode: AccountMode };

export const modeOption = () =>
  new Option("--mode <mode>", "the kind of the sandbox's account")
    .choices(["classic", "unified"] satisfies AccountMode[])
    .default("classic");

/** The account is of this mode at all times. */
export const always = (mode: AccountMode) => [{ at: Number.NEGATIVE_INFINITY, mode }];

/** `sandbox`: an exchange for trials, until Ctrl-C. */
async function sandboxCommand(io: Io, { port, mode }: SandboxWords): Promise<ExitCode> {
  const opened = openSandbox({ port, seed: "1", isClassified: true, modes: always(mode) });
  await using sandbox = await opened.catch((error: unknown) => {
    if (!(error instanceof Error && "syscall" in error && error.syscall === "listen")) throw error;
    throw new ReportableError(
      `port ${port} cannot be used (${messageOf(error)}); choose another, or 0 for a free one`,
    );
  });
  // Its own name: a real account's stored ledger must not pass for this account's.
  print(io, `EXCHANGE_ACCOUNT=sandbox\n${sandboxEnvironment(sandbox).trimEnd()}`);
  note(io, "the sandbox exchange is up until Ctrl-C; put these lines into .env");
  await stopped(io.signal);
  return 0;
}

const help = `
A classic account is served by the v2 API, a unified one by v3, and each is
refused by the other.`;

export const define: Define = (sandbox, { io, runs }) => {
  sandbox
    .option("--port <port>", "0 for any free port", portOf, 0)
    .addOption(modeOption())
    .addHelpText("after", help)
    .action(runs((words: SandboxWords) => sandboxCommand(io, words)));
};
