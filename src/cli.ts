import { type ExitCode, fail, note, type Process } from "./commands/io.ts";
import { messageOf, ReportableError, StoppedError } from "./lib/errors.ts";
import { runCommandLine } from "./program.ts";

// What the program has of its process: arguments, environment, output, signals and exit code.
// What can be typed is in program.ts.
const stop = new AbortController();
const args = process.argv.slice(2);
let outputError: Error | undefined;
/** A reader that has gone, such as head, has all that it wanted. A full disk is a failure. */
const onOutputError = (error: NodeJS.ErrnoException): void => {
  if (error.code !== "EPIPE") outputError = error;
};
const npm = process.env["npm_lifecycle_event"] === undefined ? undefined : process.env;
const io: Process = {
  isJson: args.includes("--json"),
  npm,
  out: process.stdout,
  err: process.stderr,
  signal: stop.signal,
  onOutputError,
};

// npm passes on to us the Ctrl-C that the terminal has sent us already.
const sameKeyMs = 300;

/** The first Ctrl-C finishes the page in hand, the second ends at once. Both are safe. */
function stopOnSignals(): void {
  let firstAt: number | undefined;
  // SIGHUP: the terminal was closed. Without a handler the embedded Postgres would stay behind.
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      firstAt ??= performance.now();
      stop.abort(new StoppedError("stopped on request"));
      if (performance.now() - firstAt > sameKeyMs) process.exit(1);
    });
  }
}

/** A result that cannot be written ends the run by `onOutputError`; any other text that cannot be written is dropped. */
function outliveOutput(): void {
  for (const stream of [io.out, io.err]) stream.on("error", () => undefined);
}

/**
 * Waits until all output is out: process.exit() drops what a pipe has not taken yet, which was
 * everything behind the first 64 KiB.
 */
const flush = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => stream.write("", () => resolve()));

async function flushOutput(exitCode: ExitCode): Promise<ExitCode> {
  await flush(io.out);
  if (outputError === undefined) return exitCode;
  return fail(
    io,
    new ReportableError(`the output could not be written: ${messageOf(outputError)}`),
  );
}

/**
 * Node's own way prints an error with all that hangs on it, which may be a request and its headers.
 */
function watchDefects(): void {
  process.on("uncaughtException", (error) => {
    void fail(io, error).then(async (code) => {
      await Promise.all([flush(io.out), flush(io.err)]);
      process.exit(code);
    });
  });
}

/** Certificates are verified whatever the machine's environment says for other programs. */
function keepTlsVerified(): void {
  if (process.env["NODE_TLS_REJECT_UNAUTHORIZED"] !== "0") return;
  delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
  note(
    io,
    "NODE_TLS_REJECT_UNAUTHORIZED=0 is ignored: certificates are verified. To trust another " +
      "authority, set NODE_EXTRA_CA_CERTS=FILE for the exchange, and sslrootcert=FILE in " +
      "DATABASE_URL for Postgres",
  );
}

stopOnSignals();
outliveOutput();
watchDefects();
keepTlsVerified();
const ended = await runCommandLine(args, io, process.env);
const exitCode = await flushOutput(ended);
await flush(io.err);
// What is still waiting, the slots of a rate limit for one, is of no use any more.
process.exit(exitCode);
