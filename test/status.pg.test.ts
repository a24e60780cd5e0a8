import { existsSync } from "node:fs";
import { mkdtempDisposable, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { dayMs, hourMs, minuteMs, retentionMs, secondMs } from "../src/lib/time.ts";
import { formatLength } from "../src/output/text.ts";
import type { SandboxOptions } from "./exchange/sandbox.ts";
import { runCli } from "./support/cli.ts";
import { openHouse } from "./support/house.ts";
import { scratch } from "./support/scratch.ts";

const house = (options: Partial<SandboxOptions> = {}) =>
  openHouse({ seed: "status", density: 0.05, ...options });
const statusOf = async (at: Awaited<ReturnType<typeof house>>) =>
  JSON.parse((await at.run("status", "--json")).stdout);

test("an exchange's clock 40 days ahead of the machine's makes nothing lost, missing or late", async () => {
  const offsetMs = 40 * dayMs;
  await using at = await house({ now: () => Date.now() + offsetMs });
  expect(await at.run("sync", "--only", "bills")).toMatchObject({ code: 0 });
  const told = await statusOf(at);
  const [ledger] = told.ledgers;
  expect(ledger).toMatchObject({ unread: [], openLost: [], unfinished: [] });
  expect(Math.abs(Date.parse(told.asOf) - (Date.now() + offsetMs))).toBeLessThan(minuteMs);
  const left = Date.parse(ledger.expiresAt) - Date.parse(told.asOf);
  expect(left).toBeGreaterThan(89 * dayMs);
});

test("a first sync that is stopped in the middle of its windows is shown with what it has stored", async () => {
  // Thirteen windows of about twelve pages each, at ten pages a second.
  await using at = await house({ density: 4 });
  await using sync = await at.start("sync", "--only", "bills");
  const enough = async () => {
    return (await at.db.execute(sql`select 1 from ledgers having sum(bills) > 2000`)).rows.length;
  };
  await expect.poll(enough, { timeout: 60_000, interval: 20 }).toBe(1);
  sync.kill("SIGKILL");
  await sync.ended;
  const [ledger] = (await statusOf(at)).ledgers;
  // The part of each open window above its oldest stored bill, computed here in SQL.
  const { rows } = await at.db.execute<Record<"begun" | "start" | "open", number>>(sql`
    with parts as (
      select lower(span) as start, upper(span) - lower(span) as read, false as is_open
      from (select unnest(covered) as span from ledgers) as spans
      union all
      select
        window_start,
        window_end - coalesce((select c_time from bills where bill_id = cursor), window_end),
        true
      from windows
    )
    select
      (extract(epoch from sum(read) filter (where is_open)) * 1000)::float8 as begun,
      (extract(epoch from min(parts.start)) * 1000)::float8 as start,
      (extract(epoch from min(parts.start) filter (where is_open)) * 1000)::float8 as open
    from parts`);
  const { begun, start, open } = rows[0] ?? { begun: 0, start: 0, open: 0 };
  const lengths = ledger.unfinished.map(
    (one: Record<"fromMs" | "toMs", number>) => one.toMs - one.fromMs,
  );
  expect(lengths.length).toBeGreaterThan(1);
  // A cursor's own millisecond may have more bills.
  const told = lengths.reduce((sum: number, length: number) => sum + length, lengths.length);
  expect(Math.abs(told - begun)).toBeLessThanOrEqual(lengths.length);
  const length = formatLength(
    ledger.unread.map(({ fromMs, toMs }: Record<string, number>) => ({ from: fromMs, to: toMs })),
  );
  expect((await at.run("status")).stdout).toMatch(
    new RegExp(
      `^Not complete\\n[^]*^warning +bill-sync sync +main/\\S+ was not read at times from \\S+ \\S+ to \\S+ \\S+, ${length} in all$`,
      "m",
    ),
  );
  // The oldest window may have been read to its end. A history that has just begun has two hours more.
  const expiresAt = open + retentionMs + (open === start ? 2 * hourMs : 0);
  expect(Math.abs(Date.parse(ledger.expiresAt) - expiresAt)).toBeLessThanOrEqual(secondMs);
});

test("a folder without a database gets none, and is told which one was looked at", async () => {
  await using folder = await mkdtempDisposable(join(scratch, "bill-sync-"));
  const dataDir = join(folder.path, "data");
  const env = { DATA_DIR: dataDir };
  const nothing = `nothing is stored yet in ${dataDir}/postgres; bill-sync sync stores what the exchange has\n`;
  const status = await runCli(["status"], { env });
  expect(status).toMatchObject({ code: 0, stderr: "" });
  expect(status.stdout).toContain(nothing);
  for (const command of ["reconcile", "breaks list", "types", "export --format csv"]) {
    const end = await runCli(command.split(" "), { env });
    expect([command, end]).toMatchObject([command, { code: 1, stdout: "", stderr: nothing }]);
  }
  expect(existsSync(dataDir)).toBe(false);
  await writeFile(dataDir, "");
  for (const command of ["status", "export --format csv"]) {
    const { code, stderr } = await runCli(command.split(" "), { env });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^a database cannot be kept under .*EEXIST.*set DATA_DIR to another/),
    ]);
  }
  await rm(dataDir);
  // The embedded database was looked at, since the variable that names another one is misspelled.
  for (const command of ["status", "breaks list", "accounts list"])
    expect(
      (await runCli(command.split(" "), { env: { ...env, DATABSE_URL: "postgres://db/bills" } }))
        .stderr,
    ).toMatch(/^DATABSE_URL is not a variable of this program, did you mean DATABASE_URL\?$/m);
});

test("a unified account's product types that are not configured are named, and no sync is said to read them", async () => {
  const modes = [{ at: Number.NEGATIVE_INFINITY, mode: "unified" }];
  await using at = await openHouse(
    { seed: "shared", density: 0.05, modes },
    { PRODUCT_TYPES: "UTA-SPOT,UTA-USDT-FUTURES" },
  );
  const neverRead = /^warning .*main \(4 ledgers\) were never read.*$/m;
  const lineOf = async () => neverRead.exec((await at.run("status")).stdout)?.[0];
  await at.run("sync", "--only", "bills");
  expect(await lineOf()).toMatch(/name all in PRODUCT_TYPES, or none$/);
  expect(await lineOf()).not.toContain("bill-sync");
  const { PRODUCT_TYPES: _, ...env } = at.env;
  await runCli(["sync", "--only", "bills"], { env });
  expect((await runCli(["status"], { env })).stdout).not.toContain("never read");
});
