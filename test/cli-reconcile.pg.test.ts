import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { dayMs } from "../src/lib/time.ts";
import { seededRandom } from "../src/wings/sandbox/random.ts";
import { runCli } from "./support/cli.ts";
import { openTestDatabase } from "./support/database.ts";
import { openHouse } from "./support/house.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";
import { smallLedger, smallLedgerStart, storeLedgers } from "./support/small-ledger.ts";

test.concurrent("reconcile finds what was damaged, --repair reads it again, and what stays is accepted", async () => {
  await using at = await openHouse(
    { seed: "reconcile", density: 0.3 },
    { LOG_LEVEL: "warn", PRODUCT_TYPES: "USDC-FUTURES" },
  );
  const { db, sandbox, run } = at;
  const reconcile = (...args: readonly string[]) => run("reconcile", ...args);
  const syncedAt = Date.now();
  expect(await run("sync", "--only", "bills", "--no-reconcile")).toMatchObject({ code: 0 });
  expect((await run("breaks", "list")).stdout).toMatch(
    /^no break is open; bill-sync status says what is not checked yet$/m,
  );
  expect(await reconcile()).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("nothing is open"),
  });

  // The 40th bill is missing, the 80th has another amount, and a third one was never served.
  const { rows } = await db.execute<{ bill_id: string; moved: string }>(sql`
    select bill_id, trim_scale(amount + fee)::text as moved
    from bills
    where amount <> 0
      and balance is not null
    order by c_time, bill_id`);
  const idAt = (place: number) => rows[place]?.bill_id ?? "";
  await db.execute(sql`delete from bills where bill_id = ${idAt(40)}`);
  await db.execute(sql`
    update bills
    set amount = amount + 1, ingested_at = clock_timestamp()
    where bill_id = ${idAt(80)}`);
  await db.execute(sql`
    insert into bills (
      account, product_type, bill_id, symbol, amount, fee, business_type, coin, balance, c_time,
      ingested_at
    )
    select
      account, product_type, (bill_id::bigint + 7)::text, symbol, amount, fee, business_type, coin,
      balance, c_time, clock_timestamp()
    from bills
    where bill_id = ${idAt(20)}`);
  const damaged = await reconcile("--full", "--json");
  expect(damaged.code).toBe(1);
  const { breaks } = JSON.parse(damaged.stdout) as { breaks: readonly { kind: string }[] };
  expect(breaks.map(({ kind }) => kind)).toEqual(["balance", "balance", "balance"]);

  // Of a bill that is missing and of one that is there twice, the sentence says which way the balance lies.
  const listed = await run("breaks", "list");
  for (const [place, isHigher] of [
    [40, true],
    [20, false],
  ] as const) {
    const moved = rows[place]?.moved ?? "";
    const way = isHigher === moved.startsWith("-") ? "lower" : "higher";
    const sentence = `the balance is ${moved.replace("-", "")} \\S+ ${way} than the bills explain `;
    expect(listed.stdout).toMatch(new RegExp(`^#\\d+ +balance .* ${sentence}`, "m"));
  }
  const first = await run("status");
  const [remedy] = first.stdout.match(/bill-sync (reconcile --repair|breaks accept)/g) ?? [];
  expect(remedy).toMatch(/repair/);
  const repaired = await reconcile("--full", "--repair");
  expect(repaired).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/2 breaks open; bill-sync status says what to do/),
    stderr: expect.stringMatching(/^healed: 2 bills of main\/USDC-FUTURES, \d+ d read again$/m),
  });
  const extra = `1 stored bill (${BigInt(idAt(20)) + 7n}) not served by the exchange, and not deleted`;
  expect(repaired.stderr).toContain(extra);
  // What a repair has just found nothing for is not to be repaired again.
  const status = await run("status");
  expect(status.stdout).toMatch(/^critical +bill-sync breaks accept \d+ .* does not add up: /m);
  const [told = "none"] = /the balance is .* than the bills explain/.exec(repaired.stdout) ?? [];
  expect(status.stdout).toContain(`does not add up: ${told} since `);
  expect(status.stdout).not.toContain("--repair");
  const numberOf = (what: string) =>
    new RegExp(`^#(\\d+) +${what}`, "m").exec(repaired.stdout)?.[1] ?? "none";

  const accept = (what: string) =>
    run("breaks", "accept", numberOf(what), "--note", "looked into it");
  expect(await accept("balance ")).toMatchObject({ code: 0 });
  // The repair restated a bill, which is listed, and is no fault; accepted, it does not keep the ledger from adding up.
  const restatement = { code: 0, stdout: expect.stringMatching(/^#\d+ +restated /m) };
  expect(await run("breaks", "list")).toMatchObject(restatement);
  expect(await reconcile()).toMatchObject(restatement);
  expect(await accept("restated ")).toMatchObject({ code: 0 });
  expect((await reconcile()).stdout).toContain(
    "nothing is open: apart from 1 accepted break, the ledger adds up",
  );
  expect(await accept("balance ")).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining("there is no open break #") },
  });
  await db.execute(sql`delete from bills where bill_id = (${idAt(20)}::bigint + 7)::text`);
  expect(await heldAgainstLedger(db, sandbox, "USDC-FUTURES", syncedAt)).toMatchObject(exactly);
});

test.concurrent("a balance that does not follow beside unread time is for a sync, and not to be accepted", async () => {
  await using database = await openTestDatabase();
  const bills = smallLedger(seededRandom("unread"));
  const [from, to] = [smallLedgerStart + dayMs, smallLedgerStart + 2 * dayMs];
  const readBills = bills.filter(({ cTime }) => cTime < from || cTime >= to);
  await storeLedgers(database.db, new Map([["main", readBills]]), {
    unread: new Map([["main", [from, to]]]),
  });
  const env = { DATABASE_URL: database.url, ACCOUNT_NAME: "main" };
  expect(await runCli(["reconcile"], { env })).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^#1 +unread /m),
  });
  const { next } = JSON.parse((await runCli(["status", "--json"], { env })).stdout).verdict;
  expect(next).toContain("bill-sync sync");
  expect(next.join()).not.toContain("accept");
});
