// No bill is lost if the server is shut down, crashes, freezes or has no room, and the run says so (a server of
// its own; the room ends by a limit on its files, ulimit -f).

import { describe, expect, test, vi } from "vitest";
import { openDatabase } from "../src/db/connect.ts";
import { migrate } from "../src/db/migrate.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { withLatency } from "./faults/network.ts";
import { type CliEnd, environmentFor, type RunningCli, startCli } from "./support/cli.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";
import { logFileBytes, signalProcess, throwawayServer } from "./support/throwaway-server.ts";

const productType = "USDT-FUTURES";
const pageStored = /"msg":"page stored"/;
// The tests run side by side and take about as long as the longest one, since most of it is waiting.
const maxMs = 10 * 60_000;
// A server that does not answer is given up after this time, and not after 130 s.
const queryMaxMs = 3_000;

/**
 * A slow sandbox exchange, a server of its own with migrated tables, and the program with both configured.
 */
async function house({ density = 0.1 } = {}) {
  const stack = new AsyncDisposableStack();
  const server = stack.use(await throwawayServer());
  await migrate(server.url);
  const sandbox = stack.use(
    await openSandbox({
      seed: "server",
      density,
      wrapAnswer: (answer) => withLatency(answer, { there: () => 100, back: () => 0 }),
    }),
  );
  const others = { PRODUCT_TYPES: productType, LOG_LEVEL: "debug" };
  const url = `${server.url}&query_timeout=${queryMaxMs}`;
  const env = environmentFor(sandbox, { url }, others);
  const query = async (statement: string) => {
    await using database = openDatabase(server.url);
    return (await database.db.execute(statement)).rows;
  };
  /** A lease that could not be given back expires after 15 s. */
  const expireLease = () =>
    query("update leases set expires_at = clock_timestamp() - interval '1 s'");
  const start = () => startCli(["sync", "--only", "bills"], { env, maxMs });
  /** How a sync ends if something happens in the middle of it. */
  const endAfter = async (happening: (sync: RunningCli) => Promise<unknown>): Promise<CliEnd> => {
    await using sync = await start();
    await sync.seen("stderr", pageStored);
    await happening(sync);
    const end = await sync.ended;
    expect(end.stderr).not.toMatch(/ {4}at /);
    return end;
  };
  return {
    server,
    query,
    endAfter,
    /** What a sync reports if something happens in the middle of it. It is not complete. */
    async failedBy(happening: (sync: RunningCli) => Promise<unknown>): Promise<string> {
      const end = await endAfter(happening);
      expect(end).toMatchObject({ code: 1, signal: null });
      return end.stdout;
    },
    expireLease,
    async expectNextIsExact() {
      await expireLease();
      const syncedAt = Date.now();
      await using sync = await start();
      expect(await sync.ended).toMatchObject({ code: 0 });
      await using database = openDatabase(server.url);
      const comparison = await heldAgainstLedger(database.db, sandbox, productType, syncedAt);
      expect(comparison).toMatchObject(exactly);
      expect(comparison.expected).toBeGreaterThan(150);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const backends = `
  select pid
  from pg_stat_activity
  where application_name = 'bill-sync' and pid <> pg_backend_pid()`;

function signalAll(rows: readonly Record<string, unknown>[], signal: NodeJS.Signals): void {
  for (const { pid } of rows) signalProcess(Number(pid), signal);
}

describe.concurrent("the next sync has exactly the ledger after one in whose middle", {
  timeout: maxMs,
}, () => {
  test("the server is shut down, crashes, or a backend is killed, which crashes it too", async () => {
    await using at = await house();
    const failure = /"level":"error".*"msg":"the database failed/;
    for (const mode of ["fast", "immediate"] as const) {
      const said = await at.failedBy(async (sync) => {
        await at.server.stop(mode);
        await sync.seen("stderr", failure);
        await at.server.start();
      });
      expect(said).toMatch(/^main[^:]*: the database failed \(/m);
      await at.expireLease();
    }
    let hasEnded = false;
    const { code, stderr } = await at.endAfter(async (sync) => {
      void sync.ended.then(() => {
        hasEnded = true;
      });
      while (!hasEnded && !failure.test(sync.written.stderr)) {
        const found = await at.query(backends).catch(() => []);
        signalAll(found.slice(0, 1), "SIGKILL");
      }
    });
    // The server is back within 0.2 s each time, so the program may not have noticed.
    expect(code).toBe(failure.test(stderr) ? 1 : 0);
    await vi.waitFor(at.expireLease, { timeout: maxMs });
    await at.expectNextIsExact();
  });

  test("its backends are frozen, and then the whole server, until it is given up on", async () => {
    await using at = await house();
    const noAnswer = /Query read timeout\): a statement was not answered; look for locks/;
    const said = await at.failedBy(async (sync) => {
      let isSeen = false;
      const seen = sync.seen("stderr", noAnswer).finally(() => {
        isSeen = true;
      });
      const frozen: Record<string, unknown>[] = [];
      // The first frozen process may serve only the lease's renewals, which can wait, while the pages use
      // other connections.
      while (!isSeen) {
        // A process that is frozen while it begins or ends a connection keeps the server from accepting new
        // ones.
        const found = await at.query(backends).catch(() => []);
        signalAll(found, "SIGSTOP");
        frozen.push(...found);
      }
      await seen;
      signalAll(frozen, "SIGCONT");
    });
    expect(said).toMatch(noAnswer);
    await at.expireLease();
    // A connection that is opened at that moment gets no answer either.
    const silence = new RegExp(
      `${noAnswer.source}|connection timeout\\): the server does not answer`,
    );
    const saidNext = await at.failedBy(async (sync) => {
      await at.server.signal("SIGSTOP");
      await sync.seen("stderr", silence);
      await at.server.signal("SIGCONT");
    });
    expect(saidNext).toMatch(silence);
    await at.expectNextIsExact();
  });

  test("the server's disk takes no more", async () => {
    await using at = await house({ density: 0.4 });
    // With this fillfactor a database page holds three bills, so the limit is reached during the run.
    await at.query("alter table bills set (fillfactor = 10)");
    await at.server.stop("fast");
    await at.server.start({ fileBytesMax: logFileBytes });
    const said = await at.failedBy(async () => undefined);
    expect(said).toMatch(
      /could not extend file [^\n]+: a file of the server may not grow; raise its limit/,
    );
    await at.server.stop("fast");
    await at.server.start();
    await at.expectNextIsExact();
  });
});
