// Holds: Quiet secrets

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { sql } from "drizzle-orm";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { readConfig } from "../src/accounts/config.ts";
import { openCommandDatabase } from "../src/commands/open.ts";
import {
  inSnapshot,
  inTransaction,
  type OpenDatabase,
  openDatabase,
  type Transaction,
} from "../src/core/postgres/connect.ts";
import { isRefused } from "../src/core/postgres/connections.ts";
import { explained, withDatabaseErrors } from "../src/core/postgres/database-errors.ts";
import { DatabaseError, messageOf } from "../src/lib/errors.ts";
import { Secret } from "../src/lib/secret.ts";
import { minuteMs } from "../src/lib/time.ts";
import { certificate, certificateOfOther, expiredCertificate } from "./support/certificates.ts";
import { temporaryFolder } from "./support/cli.ts";
import { fileDatabase, openTestDatabase } from "./support/database.ts";
import { closedPort } from "./support/listening.ts";
import { migrateAt } from "./support/migrate-at.ts";
import { proxyTo, tlsProxyTo } from "./support/tcp-proxy.ts";
import { throwawayServer } from "./support/throwaway-server.ts";

const password = "hunter2-and-more";

const tables = await fileDatabase();

/** The URL of this file's database, with changes. */
function urlWith(change: (url: URL) => void, from = tables.url): string {
  const url = new URL(from);
  change(url);
  return url.href;
}

async function failureOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => new Error("nothing failed"),
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(DatabaseError);
  return error instanceof DatabaseError ? error.message : "";
}

const connect = async (url: string) => {
  await using _ = await openCommandDatabase(
    { url: new Secret(url) },
    { notify: () => undefined, wings: {} },
  );
};

const port = String(await closedPort());

describe("a database that cannot be reached is an error with its remedy, without the password", () => {
  test.each<[string, Partial<URL>, RegExp]>([
    ["user", { username: "nobody_of_that_name", password }, /28(?:P01|000)\): check the user/],
    ["database", { pathname: "/nowhere" }, /3D000\): create the database/],
    [
      "host",
      { hostname: "db.invalid" },
      /\(getaddrinfo E\w+ db\.invalid\): (?:correct|the host's name)/,
    ],
    [
      "server at that port",
      { port },
      /\(connect ECONNREFUSED 127\.0\.0\.1:\d+\): start the server/,
    ],
    [
      "socket",
      { search: "?host=/nowhere" },
      /ENOENT \/nowhere\/\S+\): start the server, or correct/,
    ],
    [
      "certificate",
      { search: "?sslrootcert=/nowhere/ca.pem" },
      /^DATABASE_URL cannot be used \(ENOENT: .*\/nowhere\/ca\.pem.*\); correct it$/,
    ],
  ])("no such %s", async (_, change, message) => {
    const url = urlWith((url) => Object.assign(url, change));
    const said = await failureOf(connect(url));
    expect(said).toMatch(message);
    for (const secret of [password, new URL(tables.url).password]) {
      if (secret !== "") expect(said).not.toContain(secret);
    }
  });

  test("no right to make tables", async () => {
    await using empty = await openTestDatabase({ isEmpty: true });
    const role = `powerless_${new URL(empty.url).pathname.slice(1)}`;
    await empty.db.execute(`create role ${role} login password '${password}'`);
    const url = urlWith((url) => Object.assign(url, { username: role, password }), empty.url);
    const said = await failureOf(migrateAt(url));
    await empty.db.execute(`drop role ${role}`);
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

  // An address of this machine that is not a well-known loopback address.
  const elsewhere = (url: string, query = "") => {
    const { port, username, password, pathname } = new URL(url);
    const host = `0.0.0.0:${port}${pathname}${query}`;
    const asked = { DATABASE_URL: `postgres://${username}:${password}@${host}` };
    const where = readConfig(asked, { credentials: false }).database;
    if (!("url" in where)) throw new Error("no URL");
    return where.url.reveal();
  };

  test("is asked of a server on another machine, without a word of it, and verified", async () => {
    await using plain = await tlsProxyTo(tables.url, { offersTls: false });
    expect(await failureOf(connect(elsewhere(plain.url)))).toMatch(/does not support SSL/);
    await using proxy = await tlsProxyTo(tables.url, { offersTls: true });
    expect(await failureOf(connect(elsewhere(proxy.url)))).toMatch(
      /self-signed certificate.*name its authority by sslrootcert=FILE/,
    );
    await connect(elsewhere(proxy.url, "?sslmode=no-verify"));
    await using way = await proxyTo(tables.url);
    await connect(elsewhere(way.url, "?sslmode=disable"));
  });

  test.each(["prefer", "require", "verify-full", "a-slip"])(
    "is verified with sslmode=%s, and no warning is printed",
    async (mode) => {
      await using proxy = await tlsProxyTo(tables.url, { offersTls: true });
      expect(await failureOf(connect(withMode(proxy.url, mode)))).toMatch(
        /self-signed certificate.*\): the server's certificate is not trusted; name its authority/,
      );
      expect(warnings).toEqual([]);
    },
  );

  test("with a client's key that is none is an error with its remedy", async () => {
    await using proxy = await tlsProxyTo(tables.url, { offersTls: true });
    await using folder = await temporaryFolder();
    const file = join(folder.path, "key.pem");
    await writeFile(file, "no key");
    const said = await failureOf(connect(`${withMode(proxy.url, "verify-full")}&sslkey=${file}`));
    expect(said).toMatch(
      /: a file that DATABASE_URL names by sslcert, sslkey or sslrootcert cannot/,
    );
  });

  test.each([
    ["is taken", certificate, undefined],
    [
      "of another host is refused",
      certificateOfOther,
      /altnames.*\): name the host in DATABASE_URL as/,
    ],
    ["that has expired is refused", expiredCertificate, /has expired\): renew the server's/],
  ])(
    "from an authority that the URL names %s, whatever the mode but no-verify",
    async (_, cert, refusal) => {
      await using proxy = await tlsProxyTo(tables.url, { offersTls: true, cert });
      await using folder = await temporaryFolder();
      const ca = join(folder.path, "ca.pem");
      await writeFile(ca, cert);
      for (const mode of ["require", "verify-ca", "verify-full"]) {
        const change = ({ searchParams }: URL) => searchParams.set("sslrootcert", ca);
        const connecting = connect(urlWith(change, withMode(proxy.url, mode)));
        if (refusal === undefined) await connecting;
        else expect(await failureOf(connecting)).toMatch(refusal);
      }
      await connect(withMode(proxy.url, "no-verify"));
      await connect(`${withMode(proxy.url, "require")}&uselibpqcompat=true`);
    },
  );
});

test.each<[string, string | undefined, RegExp]>([
  ["no transaction blocks", "08P01", /: if a pooler refuses it, let it pool transactions, or/],
  ["a full disk", "53100", /the server's disk is full, or .*; free some space/],
  [
    "could not resize shared memory segment",
    "53100",
    /a container's shared memory .*--shm-size=1g/,
  ],
  ["no connection left", "53300", /the server has no connection left/],
  ["going down", "57P01", /the server was shut down; run again when it is up/],
  ["cannot write", "25006", /DATABASE_URL names .* \(a replica, or .*; name the primary/],
  ["cancelled", "57014", /the statement took too long; look for locks/],
  ["ended", "25P04", /raise it \(alter role NAME set transaction_timeout = 0\)/],
  ["temp files", "53400", /a limit of the server was reached; raise it/],
  ["no unique constraint", "42P10", /or half restored; .*, or restore a whole backup into an/],
  ["no table", "42P01", /of an older version, .* or half restored; run bill-sync db migrate/],
  ["no schema", "3F000", /of an older version, .* or half restored; run bill-sync db migrate/],
  ["column mine is not null", "23502", /: if .* is not this program's, drop it/],
  ["foreign key mine", "23503", /: if .* is not this program's, drop it/],
  ["unique constraint mine", "23505", /: if .* is not this program's, drop it/],
  ["check constraint mine", "23514", /: if .* is not this program's, drop it/],
  ["no more bills", "P0001", /: if .* is not this program's, drop it/],
  ["File too large", "XX000", /a file of the server may not grow; raise its limit/],
  ["nobody foresaw it", "XX000", /\(nobody foresaw it, XX000\); what was committed is kept$/],
  ["connection terminated unexpectedly", undefined, /the connection to the server was lost; run/],
])("what the database says (%s, %s) is an error with its remedy", (message, code, remedy) => {
  const raised = code ? new pg.DatabaseError(message, 0, "error") : new Error(message);
  const said = explained(Object.assign(raised, { code }));
  expect(said).toBeInstanceOf(DatabaseError);
  expect(messageOf(said)).toMatch(remedy);
  expect(messageOf(said)).toMatch(/; what was committed is kept$/);
});

test.each([
  ["FEHLER", "40001", true],
  ["FEHLER", "23505", true],
  ["FEHLER", "57014", true],
  ["FATAL", "57P01", false],
  ["FATAL", "25P04", false],
  ["PANIK", "53100", false],
])("%s %s in the language of the server is a refusal by its code: %s", (severity, code, isIt) => {
  const raised = Object.assign(new pg.DatabaseError("Meldung", 0, "error"), { severity, code });
  expect(isRefused(raised)).toBe(isIt);
});

test("limits of the server for whole transactions, statements and idle sessions end no transaction of the program", async () => {
  const limits = [
    "transaction_timeout",
    "statement_timeout",
    "lock_timeout",
    "idle_in_transaction_session_timeout",
    "idle_session_timeout",
  ];
  await using server = await throwawayServer({
    settings: Object.fromEntries(limits.map((name) => [name, "200"])),
  });
  await using pool = openDatabase(server.url);
  const slow = async (tx: Transaction) => {
    await tx.execute("select pg_sleep(0.3)");
    await new Promise((settle) => setTimeout(settle, 300));
    return tx.execute("select 1 as one");
  };
  for (const run of [inTransaction, inSnapshot])
    expect((await run(pool.db, slow)).rows).toEqual([{ one: 1 }]);
  // The server has closed it meanwhile.
  await new Promise((settle) => setTimeout(settle, 300));
  expect((await pool.db.execute("select 1 as one")).rows).toEqual([{ one: 1 }]);
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
    await using pool = openDatabase(tables.url);
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

  test("shows no password to whoever prints it", async () => {
    await using pool = openDatabase(urlWith((url) => Object.assign(url, { password })));
    expect(inspect(pool.db, { depth: null })).not.toContain(password);
    expect(inspect(new Error("x", { cause: pool.db.$client }), { depth: null })).not.toContain(
      password,
    );
  });

  test("survives a connection that ends while it is idle", async () => {
    await using pool = openDatabase(tables.url);
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
    await using proxy = await proxyTo(tables.url, (sent) => {
      if (sent.includes("slow")) vi.advanceTimersByTime(50 * minuteMs);
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

  test("calls no commit a success that the server answers with a rollback", async () => {
    const work = inTransaction(tables.db, async (tx) => {
      await tx.execute("select 1 / 0").catch(() => undefined);
    });
    await expect(work).rejects.toThrow("defect: the commit ended in ROLLBACK");
  });
});
