import { readFile } from "node:fs/promises";
import { Option } from "commander";
import { type Io, note } from "../../commands/io.ts";
import { type Define, portOf } from "../../commands/options.ts";
import type { AccountMode } from "../../core/words/account-state.ts";
import { messageOf, ReportableError, UsageError } from "../../lib/errors.ts";
import { dayMs } from "../../lib/time.ts";
import { makeWholeFile } from "../../lib/whole-file.ts";
import { done, type Result } from "../../output/result.ts";
import { type OpenSandbox, openSandbox, sandboxEnvironment } from "./sandbox.ts";

type SandboxFlags = {
  readonly port: number;
  readonly mode: AccountMode;
  readonly accountsFile?: string;
};

export const modeOption = () =>
  new Option("--mode <mode>", "the mode of the sandbox's account")
    .choices(["classic", "unified"] satisfies AccountMode[])
    .default("classic");

/** The accounts of `--accounts-file`: with coin-margined futures, unified, and with one product type. */
const several: Readonly<Record<string, { mode: AccountMode; productTypes?: readonly string[] }>> = {
  coins: { mode: "classic" },
  unified: { mode: "unified" },
  plain: { mode: "classic", productTypes: ["USDT-FUTURES"] },
};

// Started again within the same 30 days, it has the same accounts and history; after that, accounts of other users.
const stableDays = 30;

/** `sandbox`: an exchange for trials, until Ctrl-C. */
async function sandboxCommand(io: Io, words: SandboxFlags): Promise<Result> {
  const { port, mode, accountsFile: file } = words;
  const openedAt = Date.now() - (Date.now() % (stableDays * dayMs));
  const opened = openSandbox({
    ...{ port, seed: String(openedAt), openedAt, futureDays: stableDays + 2 },
    modeOf: (name) => several[name]?.mode ?? mode,
    accountNames: file === undefined ? ["main"] : Object.keys(several),
  });
  await using stack = new AsyncDisposableStack();
  const sandbox = await opened.catch((error: unknown) => {
    if (!(error instanceof Error && "syscall" in error && error.syscall === "listen")) throw error;
    throw new ReportableError(
      `port ${port} cannot be used (${messageOf(error)}); choose another, or 0 for a free one`,
    );
  });
  stack.use(sandbox);
  if (file !== undefined) await writeOnce(file, accountsFile(sandbox));
  note(io, "the sandbox exchange is up until Ctrl-C; put these lines into .env");
  const variables =
    file === undefined
      ? // Its own name: a real account's stored ledger must not pass for this account's.
        `ACCOUNT_NAME=sandbox\n${sandboxEnvironment(sandbox).trimEnd()}`
      : `EXCHANGE_BASE_URL=${sandbox.url}\nACCOUNTS_FILE=${file}`;
  return { ...done(variables), running: stack.move() };
}

/** A file of real accounts has keys that may be nowhere else: only the sandbox's own is left as it is. */
async function writeOnce(file: string, text: string): Promise<void> {
  const stored = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new UsageError(`--accounts-file ${file} cannot be written (${error.message})`);
  });
  if (stored === text) return;
  if (stored !== undefined)
    throw new UsageError(`--accounts-file ${file} exists with other accounts; name another file`);
  await using written = await makeWholeFile(file);
  await written.write(text);
  await written.commit();
}

const accountsFile = ({ accounts }: Pick<OpenSandbox, "accounts">): string => {
  const listed = accounts.map(({ name, apiKey, apiSecret, apiPassphrase }) => {
    const productTypes = several[name]?.productTypes;
    return { name, apiKey, apiSecret, apiPassphrase, ...(productTypes && { productTypes }) };
  });
  return `${JSON.stringify({ accounts: listed }, undefined, 2)}\n`;
};

const help = `
A classic account is served by the v2 API, a unified one by v3, and each is
refused by the other.`;

export const define: Define = (sandbox, { io, runs }) => {
  sandbox
    .option("--port <port>", "0 for any free port", portOf, 0)
    .addOption(modeOption())
    .option(
      "--accounts-file <file>",
      "serve three accounts, one unified, and write their ACCOUNTS_FILE",
    )
    .addHelpText("after", help)
    .action(runs((words: SandboxFlags) => sandboxCommand(io, words)));
};
