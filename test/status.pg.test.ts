import { existsSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { dayMs, hourMs, minuteMs, retentionMs, secondMs } from "../src/contract/time.ts";
import type { SandboxOptions } from "../src/sandbox/sandbox.ts";
import { runCli, startCli } from "./support/cli.ts";
import { openHouse } from "./support/house.ts";
import { scratch } from "./support/scratch.ts";

async function house(options: Partial<SandboxOptions> = {}) {
  const at = await openHouse({ seed: "status", density: 0.05, ...options });
  const status = async () => JSON.parse((await at.run("status", "--json")).stdout);
  return { ...at, status };
}

test("an exchange's clock 40 days ahead of the machine's makes nothing lost, missing or late", async () => {
  const offsetMs = 40 * dayMs;
  await using at = await house({ now: () => Date.now() + offsetMs });
  const synced = await at.run("sync", "--only", "bills");
  expect(synced).toMatchObject({ code: 0 });
  const told = await at.status();
  const [ledger] = told.ledgers;
  expect(ledger).toMatchObject({ unread: [], lost: [], unfinished: [], coverageShare: 1 });
  // As the finding counts it: since the newest time that is complete. Times are printed to the second.
  const incompleteMs = Date.parse(told.asOf) - ledger.completeThroughMs;
  expect(Math.abs(ledger.behindMs - incompleteMs)).toBeLessThan(secondMs);
  expect(Math.abs(Date.parse(told.asOf) - (Date.now() + offsetMs))).toBeLessThan(minuteMs);
  const left = Date.parse(ledger.expiresAt) - Date.parse(told.asOf);
  expect(left).toBeGreaterThan(89 * dayMs);
});

test("a ledger that was not read yet has no time that expires, and says so", async () => {
  await using at = await house();
  const [ledger] = (await at.status()).ledgers;
  expect(ledger).toMatchObject({ bills: 0, unread: [{}], expiresAt: null, coverageShare: 0 });
  expect((await at.run("status")).stdout).toMatch(/^USDT-FUTURES +0 +- +0\.0% /m);
});

test("a first sync that is stopped in the middle of its windows is shown with what it has stored", async () => {
  // Thirteen windows of about twelve pages each, at ten pages a second.
  await using at = await house({ density: 4 });
  await using sync = await startCli(["sync", "--only", "bills"], { env: at.env });
  const storedBills = async () => {
    const { rows } = await at.db.execute<{ bills: string }>(
      sql`select coalesce(sum(bills), 0) as bills from ledgers`,
    );
    return Number(rows[0]?.bills);
  };
  while ((await storedBills()) < 2_000) await new Promise((resolve) => setTimeout(resolve, 20));
  sync.kill("SIGKILL");
  await sync.ended;
  const [ledger] = (await at.status()).ledgers;
  // The part of each open window above its oldest stored bill, computed here in SQL.
  const { rows } = await at.db.execute<{ share: string; start: string; open: string }>(sql`
    with parts as (
      select lower(span) as start, upper(span) - lower(span) as whole, upper(span) - lower(span) as read, false as is_open
      from (select unnest(covered) as span from ledgers) as spans
      union all
      select
        window_start,
        window_end - window_start,
        case
          when cursor is null then interval '0'
          else window_end - (select c_time from bills where bill_id = cursor)
        end,
        true
      from windows
    )
    select
      extract(epoch from sum(read)) / extract(epoch from sum(whole)) as share,
      extract(epoch from min(parts.start)) * 1000 as start,
      extract(epoch from min(parts.start) filter (where is_open)) * 1000 as open
    from parts`);
  const share = Number(rows[0]?.share);
  expect(share).toBeGreaterThan(0.05);
  expect(ledger.coverageShare).toBeCloseTo(share, 3);
  expect(ledger.unfinished.length).toBeGreaterThan(1);
  // The oldest window may have been read to its end. A history that has just begun has two hours more.
  const [start, open] = [Number(rows[0]?.start), Number(rows[0]?.open)];
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
  for (const command of [
    "reconcile",
    "breaks list",
    "types",
    "accounts list",
    "export --format csv",
    "report --month 2026-10",
  ]) {
    const end = await runCli(command.split(" "), { env });
    expect([command, end]).toEqual([
      command,
      expect.objectContaining({ code: 1, stdout: "", stderr: nothing }),
    ]);
  }
  expect(existsSync(dataDir)).toBe(false);
});
