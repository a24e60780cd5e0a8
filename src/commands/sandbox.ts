import { openSandbox, sandboxEnvironment } from "../sandbox/sandbox.ts";
import { stopped } from "./database.ts";
import { type ExitCode, type Io, print } from "./io.ts";

export type SandboxCommandOptions = { readonly port: number; readonly seed: string };

/** `sandbox`: an exchange to try things on, until Ctrl-C. */
export async function sandboxCommand(io: Io, options: SandboxCommandOptions): Promise<ExitCode> {
  await using sandbox = await openSandbox(options);
  print(io, sandboxEnvironment(sandbox).trimEnd());
  io.err.write("the sandbox exchange is up until Ctrl-C; put these lines into .env\n");
  await stopped(io.signal);
  return 0;
}
