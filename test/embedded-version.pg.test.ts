import { appendFile, chown, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openEmbedded } from "../src/db/embedded/embedded.ts";
import { serverAccount } from "../src/db/embedded/embedded-account.ts";
import { findBinaries } from "../src/db/embedded/embedded-binaries.ts";
import { type Account, run } from "../src/db/embedded/embedded-tools.ts";
import { migrate } from "../src/db/migrate.ts";
import { runCli, temporaryFolder } from "./support/cli.ts";
import { otherPostgres } from "./support/debian-postgres.ts";
import { query } from "./support/query.ts";

test("data of another version is refused by every command, with the way to move it, and left as it is", async () => {
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, "data");
  const options = { dataDir, durable: false };
  {
    await using server = await openEmbedded(options);
    await query(server.url, "create table kept as select 1 as one");
  }
  const versionPath = join(dataDir, "postgres/data/PG_VERSION");
  const ours = await readFile(versionPath, "utf8");
  const older = new RegExp(
    `^${join(dataDir, "postgres")} holds a database of PostgreSQL 13, which the program's ` +
      `PostgreSQL ${ours.trim()} cannot open. Move it by a backup: .*docs/operations.md shows it\n$`,
  );
  for (const [version, said] of [
    ["13\n", older],
    ["99\n", /holds a database of PostgreSQL 99, which is newer than .*: update the program/],
  ] as const) {
    await writeFile(versionPath, version);
    for (const args of [["status"], ["db"], ["backup", "ledger.gz"], ["restore", "ledger.gz"]]) {
      const end = await runCli(args, { cwd: folder.path });
      expect({ args, ...end }).toMatchObject({ args, code: 2, stdout: "" });
      expect(end.stderr).toMatch(said);
    }
    expect((await runCli(["doctor"], { cwd: folder.path })).stdout).toMatch(
      /^FAIL {2}database {9}\S+ holds a database of PostgreSQL/m,
    );
  }
  await writeFile(versionPath, ours);
  await using server = await openEmbedded(options);
  expect(await query(server.url, "select one from kept")).toEqual([{ one: 1 }]);
});

test("an embedded database of an older version is moved by a backup that its own server gives", async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  const dataDir = join(cwd, "data");
  const account = await serverAccount(join(dataDir, "postgres"));
  const { major, ...ours } = await findBinaries(account);
  const other = otherPostgres(String(major));
  const isOlder = other !== undefined && Number(other.major) < major;
  process.stdout.write(
    isOlder
      ? `an embedded database of Postgres ${other.major} was moved to ${major}\n`
      : `no Postgres older than ${major} is in /usr/lib/postgresql: one of ${major} was moved\n`,
  );
  await makeCluster(join(dataDir, "postgres"), isOlder ? other.initdb : ours.initdb, account);
  {
    await using server = await openEmbedded({ dataDir, durable: false, anyVersion: true });
    await migrate(server.url);
    await query(
      server.url,
      `insert into bills (account, product_type, bill_id, amount, fee, business_type, coin, c_time, ingested_at)
       values ('a', 'p', '1', 0.10, 0, 'x', 'x', now(), now())`,
    );
  }
  if (isOlder) expect(await runCli(["status"], { cwd })).toMatchObject({ code: 2 });
  expect(await runCli(["backup", "ledger.gz"], { cwd })).toMatchObject({ code: 0, stderr: "" });
  await rename(join(dataDir, "postgres"), join(cwd, "postgres-before"));
  expect(await runCli(["restore", "ledger.gz"], { cwd })).toMatchObject({ code: 0, stderr: "" });
  const version = await readFile(join(dataDir, "postgres/data/PG_VERSION"), "utf8");
  expect(version.trim()).toBe(String(major));
  await using server = await openEmbedded({ dataDir, durable: false });
  expect(await query(server.url, "select amount from bills")).toEqual([{ amount: "0.10" }]);
});

/** Makes what the program of that version would have made. */
async function makeCluster(dir: string, initdb: string, account: Account | undefined) {
  await mkdir(dir, { recursive: true });
  for (const [name, text] of [
    ["password", "word"],
    ["port", "23456"],
  ] as const) {
    await writeFile(join(dir, name), `${text}\n`, { mode: 0o600 });
    if (account !== undefined) await chown(join(dir, name), account.uid, account.gid);
  }
  if (account !== undefined) await chown(dir, account.uid, account.gid);
  const made = await run(
    initdb,
    [
      ...["-D", join(dir, "data"), "-U", "bill_sync", `--pwfile=${join(dir, "password")}`],
      ...["--encoding=UTF8", "--locale=C", "--auth=scram-sha-256", "--no-sync"],
    ],
    account,
  );
  expect(made).toMatchObject({ ok: true });
  await appendFile(
    join(dir, "data/postgresql.conf"),
    "listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\ntimezone = 'UTC'\n",
  );
}
