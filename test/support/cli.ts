import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { parseEnv } from "node:util";
import { inject } from "vitest";
import type { runCommandLine } from "../../src/program.ts";
import { sandboxEnvironment } from "../../src/wings/sandbox/sandbox.ts";
import type { OpenSandbox } from "../exchange/sandbox.ts";
import type { TestDatabase } from "./database.ts";
import { scratch } from "./scratch.ts";

export type CliEnvironment = Readonly<Record<string, string | undefined>>;

export type CliOptions = {
  /** The program's whole environment, except the PATH. */
  readonly env?: CliEnvironment;
  /**
   * Default an empty folder of its own, without an .env; what the program writes there is removed
   * with it.
   */
  readonly cwd?: string;
  /** Stops it, as Ctrl-C does, once its output has this, or once this ends. Default never. */
  readonly until?: RegExp | Promise<unknown>;
  /** Which output goes to a disk without room, `/dev/full`. Default none. */
  readonly full?: readonly ("stdout" | "stderr")[];
  /**
   * When it is killed as overdue. Default less than a test's own limit, so that its output is
   * shown.
   */
  readonly maxMs?: number;
};

export type CliEnd = {
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
};

// Tax records are read one page a second: only tests that are about them ask for any.
const usual = { PATH: process.env["PATH"], RECOVER_FROM: "none" };

const runMaxMs = 240_000;
const pollMs = 10;

/**
 * Runs the real program to its end: in this process, which takes a tenth of the time, unless the
 * test is about its output's end, or what Node itself reads from the environment, or other runs are
 * at work in another folder.
 */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliEnd> {
  const { env = {}, cwd, full } = options;
  const isOfNode = Object.keys(env).some((name) => /^(NODE_|TZ$|LANG$|LC_)/.test(name));
  const isElsewhere = cwd !== undefined && here !== undefined && here.path !== cwd;
  if (full === undefined && !isOfNode && !isElsewhere) return await runHere(args, options);
  await using running = await startCli(args, options);
  return await running.ended;
}

const testsFolder = process.cwd();
/** The folder of the runs that are at work in this process: it has only one at a time. */
let here: { readonly path: string; readonly isOwn: boolean; runs: number } | undefined;

async function runHere(
  args: readonly string[],
  { env = {}, cwd, until, maxMs = runMaxMs }: CliOptions,
): Promise<CliEnd> {
  const program = await builtHere();
  using _ = enterFolder(cwd);
  const stop = new AbortController();
  const end = () => stop.abort(new Error("stopped on request"));
  if (until instanceof Promise) void until.then(end);
  const overdue = setTimeout(() => stop.abort(new Error(`overdue: ${maxMs} ms`)), maxMs);
  const written = { stdout: "", stderr: "" };
  const output = (name: keyof typeof written) =>
    new Writable({
      decodeStrings: false,
      write(text: string, _, done) {
        written[name] += text;
        if (until instanceof RegExp && until.test(written[name])) end();
        done();
      },
    }) as unknown as NodeJS.WriteStream;
  const environment: CliEnvironment = { ...usual, ...env };
  try {
    const code = await program(
      args,
      {
        out: output("stdout"),
        err: output("stderr"),
        isJson: args.includes("--json"),
        npm: environment["npm_lifecycle_event"] === undefined ? undefined : environment,
        signal: stop.signal,
        onOutputError: () => undefined,
      },
      environment,
    );
    return { code, signal: null, ...written };
  } finally {
    clearTimeout(overdue);
  }
}

/** Enters a folder, or an empty one, which is left after the last run that began in it; the empty one is removed. */
function enterFolder(cwd: string | undefined): Disposable {
  here ??= { path: cwd ?? emptyFolder(), isOwn: cwd === undefined, runs: 0 };
  const folder = here;
  folder.runs += 1;
  process.chdir(folder.path);
  return {
    [Symbol.dispose]() {
      folder.runs -= 1;
      if (folder.runs > 0) return;
      here = undefined;
      process.chdir(testsFolder);
      if (folder.isOwn) rmSync(folder.path, { recursive: true, force: true });
    },
  };
}

function emptyFolder(): string {
  const path = mkdtempSync(join(scratch, "bill-sync-cli-"));
  // If root runs the tests, the embedded Postgres runs as another user.
  chmodSync(path, 0o755);
  return path;
}

/** The built program, whose few files load in a tenth of the time of its source. */
async function builtHere(): Promise<typeof runCommandLine> {
  const folder = join(inject("program"), "..", "..");
  enableCompileCache(join(folder, "compiled"));
  const url = pathToFileURL(join(folder, "dist", "command-line.js")).href;
  const program: { readonly runCommandLine: typeof runCommandLine } = await import(url);
  return program.runCommandLine;
}

export type RunningCli = Awaited<ReturnType<typeof startCli>>;

/** Starts the real program in a process of its own, which ends with its scope. */
export async function startCli(
  args: readonly string[],
  { env = {}, cwd, full = [], maxMs = runMaxMs }: CliOptions = {},
) {
  await using stack = new AsyncDisposableStack();
  const folder = cwd ?? stack.use(await temporaryFolder()).path;
  const fullDisk = full.length === 0 ? undefined : stack.use(await open("/dev/full", "w"));
  const end = (name: "stdout" | "stderr") => (full.includes(name) ? fullDisk?.fd : "pipe");
  const child = spawn(process.execPath, [inject("program"), ...args], {
    cwd: folder,
    env: { ...usual, ...env },
    stdio: ["ignore", end("stdout"), end("stderr")],
  });
  const written = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      written[name] += text;
    });
  }
  const overdue = setTimeout(() => {
    written.stderr += `\n(the test killed it after ${maxMs} ms)`;
    child.kill("SIGKILL");
  }, maxMs);
  const ended = new Promise<CliEnd>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(overdue);
      resolve({ code, signal, ...written });
    });
  });
  stack.defer(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  const cleanUp = stack.move();
  return {
    /** Its output so far. */
    written: written as Readonly<typeof written>,
    pid: child.pid ?? 0,
    /** The first match in its output, now or later. Rejects if it ends without a match. */
    seen: (stream: keyof typeof written, pattern: RegExp) =>
      seen(() => written[stream], pattern, ended),
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** Closes the reading end of its output, as `head` does. */
    close: (stream: keyof typeof written) => child[stream]?.destroy(),
    ended,
    [Symbol.asyncDispose]: () => cleanUp.disposeAsync(),
  };
}

async function seen(
  text: () => string,
  pattern: RegExp,
  ended: Promise<CliEnd>,
): Promise<RegExpExecArray> {
  for (;;) {
    const match = pattern.exec(text());
    if (match !== null) return match;
    const end = await Promise.race([ended, sleep(pollMs)]);
    const last = pattern.exec(text());
    if (last !== null) return last;
    if (end !== undefined)
      throw new Error(`it ended without ${pattern}: ${JSON.stringify(end, null, 2)}`);
  }
}

/** A folder that is removed with its scope. */
export async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = emptyFolder();
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** The environment that points the program at a sandbox exchange and a test database. */
export const environmentFor = (
  sandbox: Pick<OpenSandbox, "url" | "account">,
  database: Pick<TestDatabase, "url">,
  others: CliEnvironment = {},
): CliEnvironment => ({
  ...parseEnv(sandboxEnvironment(sandbox)),
  DATABASE_URL: database.url,
  ...others,
});
