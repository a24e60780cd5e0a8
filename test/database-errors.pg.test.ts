// Holds: Atomic pages, Quiet secrets

import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { inspect } from "node:util";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { minuteMs } from "../src/contract/time.ts";
import {
  inSnapshot,
  inTransaction,
  inTransactionAfter,
  type OpenDatabase,
  openDatabase,
  type Transaction,
} from "../src/db/connect.ts";
import { withDatabaseErrors } from "../src/db/database-errors.ts";
import { migrate } from "../src/db/migrate.ts";
import { openCommandDatabase } from "../src/db/open.ts";
import { DatabaseError } from "../src/errors.ts";
import { readStoredBills } from "../src/ledger/bill-rows.ts";
import { openStore } from "../src/ledger/ledger-store.ts";
import { readDatabaseConfig } from "../src/roster/config.ts";
import { Secret } from "../src/secret.ts";
import type { PageCommit } from "../src/sync/store.ts";
import { bills } from "./support/bills.ts";
import { certificate, certificateOfOther, expiredCertificate } from "./support/certificates.ts";
import { temporaryFolder } from "./support/cli.ts";
import { fileDatabase, testDatabase } from "./support/database.ts";
import {
  aPage,
  type HeldLedger,
  holdLedger,
  minutes,
  plan,
  timesOf,
  untilBlocked,
} from "./support/held-store.ts";
import { type Fate, proxyTo, tlsProxyTo } from "./support/tcp-proxy.ts";

const password = "hunter2-and-more";
const window = minutes(0, 10);

const { database, tables } = await fileDatabase();

/** The URL of this file's database, with changes. */
function urlWith(change: (url: URL) => void, from = database.url): string {
  const url = new URL(from);
  change(url);
  return url.href;
}

const withOptions = (options: string) =>
  urlWith(({ searchParams }) => searchParams.set("options", options));

async function failureOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => new Error("nothing failed"),
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(DatabaseError);
  return error instanceof DatabaseError ? error.message : "";
}

const connect = async (url: string) => {
  await using _ = await openCommandDatabase({ url: new Secret(url) }, () => undefined);
};

describe("a database that cannot be reached is an error with its remedy, without the password", () => {
  async function closedPort(): Promise<string> {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((settle) => server.once("listening", settle));
    const address = server.address();
    await new Promise((settle) => server.close(settle));
    return typeof address === "object" ? String(address?.port) : "";
  }

  test.each<[string, (url: URL) => unknown, RegExp]>([
    [
      "no such user, or not that password",
      (url) => Object.assign(url, { username: "nobody_of_that_name", password }),
      /28(?:P01|000)\): check the user/,
    ],
    [
      "no such database",
      (url) => Object.assign(url, { pathname: "/nowhere" }),
      /3D000\): create the database/,
    ],
    [
      "no such host",
      (url) => Object.assign(url, { hostname: "db.invalid" }),
      /\(getaddrinfo E\w+ db\.invalid\): (?:correct the host|the host's name cannot be looked up)/,
    ],
    [
      "nobody at that port",
      async (url) => Object.assign(url, { port: await closedPort() }),
      /\(connect ECONNREFUSED 127\.0\.0\.1:\d+\): start the server/,
    ],
    [
      "no such socket",
      (url) => url.searchParams.set("host", "/nowhere"),
      /\(connect ENOENT \/nowhere\/\S+\): start the server, or correct its socket's path/,
    ],
    [
      "no such certificate",
      (url) => url.searchParams.set("sslrootcert", "/nowhere/ca.pem"),
      /^DATABASE_URL cannot be used \(ENOENT: .*\/nowhere\/ca\.pem.*\); correct it$/,
    ],
  ])("%s", async (_, change, message) => {
    const url = new URL(database.url);
    await change(url);
    const said = await failureOf(connect(url.href));
    expect(said).toMatch(message);
    for (const secret of [password, new URL(database.url).password]) {
      if (secret !== "") expect(said).not.toContain(secret);
    }
  });

  test("no right to make tables", async () => {
    await using empty = await testDatabase({ isEmpty: true });
    await using admin = openDatabase(empty.url);
    const role = `powerless_${new URL(empty.url).pathname.slice(1)}`;
    await admin.db.execute(`create role ${role} login password '${password}'`);
    const url = urlWith((url) => Object.assign(url, { username: role, password }), empty.url);
    const said = await failureOf(migrate(url));
    await admin.db.execute(`drop role ${role}`);
    expect(said).toMatch(
      /^the database needs a migration, and this user may not make it \(permission denied.*\): run bill-sync db migrate as the owner/,
    );
  });
});

describe("TLS", () => {
  // The driver warns once in the life of a process, whichever test comes first.
  const warnings: Error[] = [];
  const collect = (warning: Error) => warnings.push(warning);
  beforeAll(() => void process.on("warning", collect));
  afterAll(() => void process.off("warning", collect));

  const withMode = (url: string, mode: string) =>
    urlWith(({ searchParams }) => searchParams.set("sslmode", mode), url);

  test("that the server does not have is an error with its remedy", async () => {
    await using proxy = await tlsProxyTo(database.url, { offersTls: false });
    const said = await failureOf(connect(withMode(proxy.url, "require")));
    expect(said).toMatch(
      /does not support SSL connections\): turn TLS on at the server, or .* sslmode=disable in DATABASE_URL/,
    );
  });

  // An address of this machine that is not a well-known loopback address.
  const elsewhere = (url: string, query = "") => {
    const { port, username, password, pathname } = new URL(url);
    const host = `0.0.0.0:${port}${pathname}${query}`;
    const where = readDatabaseConfig({
      DATABASE_URL: `postgres://${username}:${password}@${host}`,
    });
    if (!("url" in where)) throw new Error("no URL");
    return where.url.reveal();
  };

  test("is asked of a server on another machine, without a word of it, and verified", async () => {
    await using plain = await tlsProxyTo(database.url, { offersTls: false });
    expect(await failureOf(connect(elsewhere(plain.url)))).toMatch(/does not support SSL/);
    await using proxy = await tlsProxyTo(database.url, { offersTls: true });
    expect(await failureOf(connect(elsewhere(proxy.url)))).toMatch(
      /self-signed certificate.*name its authority by sslrootcert=FILE/,
    );
    await connect(elsewhere(proxy.url, "?sslmode=no-verify"));
    await using way = await proxyTo(database.url);
    await connect(elsewhere(way.url, "?sslmode=disable"));
  });

  test.each(["prefer", "require", "verify-ca", "verify-full", "allow", "a-slip"])(
    "is verified with sslmode=%s, and no warning is printed",
    async (mode) => {
      await using proxy = await tlsProxyTo(database.url, { offersTls: true });
      const said = await failureOf(connect(withMode(proxy.url, mode)));
      expect(said).toMatch(
        /self-signed certificate.*\): the server's certificate is not trusted; name its authority/,
      );
      expect(warnings).toEqual([]);
    },
  );

  test.each([
    ["is taken", certificate, undefined],
    ["of another host is refused", certificateOfOther, /does not match certificate's altnames/],
    ["that has expired is refused", expiredCertificate, /certificate has expired/],
  ])(
    "from an authority that the URL names %s, whatever the mode but no-verify",
    async (_, cert, refusal) => {
      await using proxy = await tlsProxyTo(database.url, { offersTls: true, cert });
      await using folder = await temporaryFolder();
      const ca = join(folder.path, "ca.pem");
      await writeFile(ca, cert);
      for (const mode of ["require", "verify-ca", "verify-full"]) {
        const change = ({ searchParams }: URL) => searchParams.set("sslrootcert", ca);
        const connecting = connect(urlWith(change, withMode(proxy.url, mode)));
        if (refusal === undefined) await connecting;
        else {
          const said = await failureOf(connecting);
          expect(said).toMatch(refusal);
          expect(said).toMatch(/the server's certificate is not trusted/);
        }
      }
      await connect(withMode(proxy.url, "no-verify"));
      await connect(`${withMode(proxy.url, "require")}&uselibpqcompat=true`);
    },
  );
});

describe("a page whose database fails is an error with its remedy, and nothing is lost", () => {
  const page = ({ ledger }: HeldLedger, but: Partial<PageCommit> = {}): PageCommit =>
    aPage(ledger, window, { cursor: "c2" }, { after: "c1", bills: bills(3), ...but });

  async function begun(): Promise<HeldLedger> {
    const held = await holdLedger(tables.db);
    await plan(held, [window]);
    await held.store.commitPage(
      page(held, { after: undefined, next: { cursor: "c1" }, bills: bills(1) }),
    );
    return held;
  }

  const atFirst = ["0-10 open c1"];
  const atLast = ["0-10 open c2"];
  const storedIds = async ({ ledger }: HeldLedger) =>
    (await readStoredBills(tables.db, ledger)).map(({ billId }) => billId);
  const ids = (count: number) => bills(count).map(({ billId }) => billId);

  async function expectOnlyFirst(held: HeldLedger): Promise<void> {
    expect(await timesOf(tables.db, held.ledger)).toEqual(atFirst);
    expect(await storedIds(held)).toEqual(ids(1));
  }

  /** Whatever was stored, a run that resumes from it ends with all bills. */
  async function expectResumed(held: HeldLedger): Promise<void> {
    const [walk] = (await held.store.knownTime(held.ledger)).open;
    if (walk?.cursor !== "c2") await held.store.commitPage(page(held));
    expect(await timesOf(tables.db, held.ledger)).toEqual(atLast);
    expect(await storedIds(held)).toEqual(ids(3));
  }

  test.each<[string, string, RegExp]>([
    ["a full disk", "53100", /the server's disk is full; free some space/],
    ["no connection left", "53300", /the server has no connection left/],
    ["no memory", "53200", /the server is out of memory/],
    ["a deadlock", "40P01", /another session was in the way; run again/],
    ["a server that is going down", "57P01", /the server was shut down; run again when it is up/],
    ["a fault that nobody foresaw", "XX000", /\(a fault, XX000\); what was committed is kept$/],
  ])("%s (%s)", async (_, code, remedy) => {
    const held = await begun();
    await tables.db.execute(`
      create or replace function fail() returns trigger language plpgsql as
        'begin raise exception ''a fault'' using errcode = ''${code}''; end';
      create trigger fail before update on windows for each row execute function fail()`);
    const said = await failureOf(held.store.commitPage(page(held)));
    await tables.db.execute("drop trigger fail on windows");
    expect(said).toMatch(remedy);
    expect(said).toMatch(/; what was committed is kept$/);
    await expectOnlyFirst(held);
    await expectResumed(held);
  });

  test("a server that takes no writes", async () => {
    const held = await begun();
    await using replica = openDatabase(withOptions("-c default_transaction_read_only=on"));
    const { account } = held.ledger;
    const store = openStore(replica.db, { account, epoch: 1 });
    const said = await failureOf(store.commitPage(page(held)));
    expect(said).toMatch(
      /25006\): DATABASE_URL names .* \(a replica, or a user with .*\); name the primary, and/,
    );
    await expectOnlyFirst(held);
  });

  test.each([
    ["pg_cancel_backend", /57014\): the statement took too long; look for locks/],
    ["pg_terminate_backend", /57P01\): the server was shut down; run again when it is up/],
  ])("a statement that the server ends by %s", async (end, message) => {
    const held = await begun();
    const blocker = await tables.db.$client.connect();
    await blocker.query("begin");
    await blocker.query("select 1 from leases where account = $1 for update", [
      held.ledger.account,
    ]);
    const said = failureOf(held.store.commitPage(page(held)));
    await untilBlocked(tables.db, 1);
    await blocker.query(`
      select ${end}(pid)
      from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`);
    expect(await said).toMatch(message);
    await blocker.query("commit");
    blocker.release();
    await expectOnlyFirst(held);
    await expectResumed(held);
  });

  test.each<[Fate, readonly (readonly string[])[]]>([
    ["cut before", [atFirst]],
    ["cut in", [atFirst, atLast]],
    ["cut after", [atLast]],
  ])("a connection that is %s its commit", async (fate, outcomes) => {
    const held = await begun();
    await using proxy = await proxyTo(database.url, (sent) =>
      sent.includes("commit\0") ? fate : "pass",
    );
    await using remote = openDatabase(proxy.url);
    const store = openStore(remote.db, { account: held.ledger.account, epoch: 1 });
    const said = await failureOf(store.commitPage(page(held)));
    expect(said).toMatch(/: the connection to the server was lost; run again; what was committed/);
    // A server that received the commit may still be working on it, which its lock on the row shows.
    await tables.db.execute(sql`
      select 1 from leases where account = ${held.ledger.account} for update`);
    expect(outcomes).toContainEqual(await timesOf(tables.db, held.ledger));
    await expectResumed(held);
  });
});

describe("a pool", () => {
  const pidOf = async (db: Pick<OpenDatabase["db"], "execute">) => {
    const { rows } = await db.execute<{ pid: number; is_idle: boolean }>(sql`
      select pg_backend_pid() as pid, pg_current_xact_id_if_assigned() is null as is_idle`);
    return rows[0];
  };
  const terminate = (pid: number | undefined) =>
    tables.db.execute(sql`select pg_terminate_backend(${pid}, 5000)`);

  test("survives a connection that ends between two statements of a transaction, and tells the server's reason", async () => {
    await using pool = openDatabase(database.url);
    const work = inTransaction(pool.db, async (tx) => {
      await terminate((await pidOf(tx))?.pid);
      await new Promise((settle) => setTimeout(settle, 50));
      await tx.execute("select 1");
    });
    expect(await failureOf(withDatabaseErrors(() => work))).toMatch(
      /57P01\): the server was shut down; run again when it is up/,
    );
    expect(await pidOf(pool.db)).toMatchObject({ is_idle: true });
  });

  // The BEGIN that was sent before it fails, too. That would end the process if nobody handled it.
  test("survives a read that throws before it has asked anything", async () => {
    await using pool = openDatabase(database.url);
    const odd = () => {
      throw new Error("an odd read");
    };
    await expect(inTransactionAfter(pool.db, odd, odd, { lockMaxMs: -1 })).rejects.toThrow(
      "an odd read",
    );
    expect(await pidOf(pool.db)).toMatchObject({ is_idle: true });
  });

  test("shows no password to whoever prints it", async () => {
    const url = urlWith((url) => Object.assign(url, { password }));
    await using pool = openDatabase(url);
    expect(inspect(pool.db, { depth: null })).not.toContain(password);
    expect(inspect(new Error("x", { cause: pool.db.$client }), { depth: null })).not.toContain(
      password,
    );
  });

  test("survives a connection that ends while it is idle", async () => {
    await using pool = openDatabase(database.url);
    const before = await pidOf(pool.db);
    await terminate(before?.pid);
    await expect.poll(() => pool.db.$client.totalCount).toBe(0);
    expect((await pidOf(pool.db))?.pid).not.toBe(before?.pid);
  });

  test("takes no connection back whose statement was given up", async () => {
    const url = urlWith(({ searchParams }) => searchParams.set("query_timeout", "200"));
    await using pool = openDatabase(url);
    let given: number | undefined;
    const work = inTransaction(pool.db, async (tx) => {
      given = (await pidOf(tx))?.pid;
      await tx.execute("create table never (); select pg_sleep(1)");
    });
    const said = await failureOf(withDatabaseErrors(() => work));
    expect(said).toMatch(/\(Query read timeout\): a statement was not answered; look for locks/);
    const next = await pidOf(pool.db);
    expect(next).toMatchObject({ is_idle: true });
    expect(next?.pid).not.toBe(given);
  });

  test("waits for a statement for as long as the transaction allows it, and then as usual", async () => {
    await using proxy = await proxyTo(database.url, (sent) => {
      if (sent.includes("slow")) vi.advanceTimersByTime(50 * minuteMs);
      return "pass";
    });
    await using pool = openDatabase(proxy.url);
    using clock = new DisposableStack();
    clock.defer(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const slow = (tx: Transaction) => tx.execute("select 'slow' as answer");
    expect((await inSnapshot(pool.db, slow)).rows).toEqual([{ answer: "slow" }]);
    const work = inTransaction(pool.db, slow);
    expect(await failureOf(withDatabaseErrors(() => work))).toMatch(/Query read timeout/);
  });

  test("is closed though a statement still hangs", async () => {
    const sentOff = Promise.withResolvers<void>();
    await using proxy = await proxyTo(database.url, (sent) => {
      if (!sent.includes("hanging")) return "pass";
      sentOff.resolve();
      return new Promise<Fate>(() => undefined);
    });
    const pool = openDatabase(proxy.url);
    const hanging = failureOf(withDatabaseErrors(() => pool.db.execute("select 'hanging'")));
    await sentOff.promise;
    await pool[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
    expect(await hanging).toMatch(/the connection to the server was lost/);
  });

  test("calls no commit a success that the server answers with a rollback", async () => {
    const work = inTransaction(tables.db, async (tx) => {
      await tx.execute("select 1 / 0").catch(() => undefined);
    });
    await expect(work).rejects.toThrow("defect: the commit ended in ROLLBACK");
  });
});
