import { openSandbox, type SandboxOptions } from "../exchange/sandbox.ts";
import { type CliEnvironment, environmentFor, runCli, startCli } from "./cli.ts";
import { openTestDatabase } from "./database.ts";

/** A sandbox exchange, a database, and the program with both configured. */
export async function openHouse(
  options: Partial<SandboxOptions> & Pick<SandboxOptions, "seed">,
  others: CliEnvironment = {},
) {
  const stack = new AsyncDisposableStack();
  const sandbox = stack.use(await openSandbox({ density: 0.1, ...options }));
  const { url, db } = stack.use(await openTestDatabase());
  const env = environmentFor(sandbox, { url }, { PRODUCT_TYPES: "USDT-FUTURES", ...others });
  return {
    ...{ sandbox, url, db, env },
    run: (...args: readonly string[]) => runCli(args, { env }),
    start: (...args: readonly string[]) => startCli(args, { env }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
