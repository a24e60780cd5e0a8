import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { accountBills } from "../src/contract/account-bills.ts";
import type { Bill } from "../src/contract/bill.ts";
import type { ProductType } from "../src/contract/product-types.ts";
import { dayMs, epochMs, hourMs, isoTime, minuteMs } from "../src/contract/time.ts";
import { inTransaction, openDatabase } from "../src/db/connect.ts";
import { supersedeRows } from "../src/ledger/rejected-bills.ts";
import { upsertBills } from "../src/ledger/upsert-bills.ts";
import { snowflake } from "../src/sandbox/snowflake.ts";
import { writeAccounts } from "./support/accounts-file.ts";
import { aBill } from "./support/bills.ts";
import { runCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { aMirrorKey, openMirror } from "./support/mirror.ts";
import { openPageServer } from "./support/page-server.ts";
import { check, logRun } from "./support/page-states.ts";
import { coverStream } from "./support/small-ledger.ts";
import { storeTime } from "./support/stored-time.ts";

// Each test states what all outputs must say of one database: one judge decides whether a ledger can be trusted.

const now = Date.now();
const ago = (ms: number) => epochMs(now - ms);
const productType = "USDT-FUTURES";
/** Longer than the exchange keeps bills. */
const allMs = 91 * dayMs;

/** A bill an hour, each of 10, which add up. The last is `endAgoMs` old. */
const hourly = (count: number, endAgoMs = hourMs): readonly Bill[] =>
  Array.from({ length: count }, (_, index) => {
    const cTime = ago(endAgoMs + (count - 1 - index) * hourMs);
    return aBill({
      billId: snowflake(cTime, 0),
      cTime,
      amount: "10",
      fee: "0",
      balance: String(1_000 + index * 10),
    });
  });

/** A database, the accounts of its configuration, and what each output says of it. */
async function house(accounts: readonly object[] = [{ name: "main" }]) {
  const stack = new AsyncDisposableStack();
  const database = stack.use(await testDatabase());
  const folder = stack.use(await temporaryFolder());
  const tables = stack.use(openDatabase(database.url));
  const { db } = tables;
  const keys = { apiKey: "k", apiSecret: "s", apiPassphrase: "p" };
  const env = {
    DATABASE_URL: database.url,
    PRODUCT_TYPES: productType,
    ACCOUNTS_FILE: await writeAccounts(
      folder.path,
      accounts.map((one, index) => ({ ...keys, apiKey: `k${index}`, ...one })),
    ),
  };
  const run = (...args: readonly string[]) => runCli(args, { env });
  const json = async (...args: readonly string[]) => JSON.parse((await run(...args)).stdout);
  await logRun(db, { agoMs: 12 * minuteMs });
  return {
    ...{ db, run },
    /** Stores bills of one ledger, and that some of its time was read. */
    store: (
      account: string,
      bills: readonly Bill[],
      fromMs: number,
      toMs: number,
      of: ProductType = productType,
    ) =>
      inTransaction(db, async (tx) => {
        const stream = { account, productType: of };
        await upsertBills(tx, [{ stream, bills }]);
        await coverStream(tx, stream, ago(fromMs), ago(toMs));
      }),
    /** @returns the kinds of the breaks. */
    reconcile: async () => {
      await check(db);
      const { rows } = await db.execute<{ kind: string }>(sql`
        select kind
        from ledger_breaks
        where state = 'open'
        order by break_id`);
      return rows.map(({ kind }) => kind);
    },
    /** The kinds of findings. */
    check: async (...args: readonly string[]) => {
      const { findings } = await json("status", "--check", "--json", ...args);
      return findings.map(({ kind }: { readonly kind: string }) => kind);
    },
    headline: async () => {
      await using server = await openPageServer();
      server.show(tables);
      const page = await (await fetch(server.url)).text();
      return /<h1[^>]*><i class="dot"><\/i>([^<]*)/.exec(page)?.[1];
    },
    /** What the mirror answers a client who asks for one span. */
    served: async (fromMs: number, toMs: number) => {
      const key = aMirrorKey("main");
      await using mirror = openMirror(database.url, { keys: [key], now: () => now });
      const span = { startTime: String(ago(fromMs)), endTime: String(ago(toMs)) };
      // Awaited here: the mirror closes with this scope, and a closed one answers 503.
      return await mirror.ask(key, accountBills.path, { productType, ...span });
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

test("a paused account four days before its bills are lost fails status --check", async () => {
  await using at = await house();
  await at.store("main", [], 87 * dayMs, 86 * dayMs);
  expect(await at.check()).toContain("expiring");
  expect(await at.run("accounts", "pause", "main")).toMatchObject({ code: 0 });
  expect(await at.check()).toContain("expiring");
});

/** Two product types, and a transfer between them whose legs differ by 1. */
async function unequalTransfer() {
  const at = await house();
  const legOf = (businessType: string, amount: string, balance: string) => {
    const cTime = ago(30 * hourMs);
    return aBill({ billId: snowflake(cTime, 0), cTime, businessType, amount, fee: "0", balance });
  };
  const out = legOf("trans_to_contract", "-100", "900");
  await at.store("main", [out], allMs, 0, "UTA-USDT-FUTURES");
  await at.store("main", [legOf("trans_from_contract", "99", "99")], allMs, 0, "USDC-FUTURES");
  expect(await at.reconcile()).toEqual(["transfer"]);
  return at;
}

test("a transfer whose legs differ fails status --check of a fleet as it does of one account", async () => {
  await using at = await unequalTransfer();
  expect(await at.check()).toContain("broken");
  expect(await at.check("--limit", "1")).toContain("broken");
});

test("a report names a transfer whose legs differ", async () => {
  await using at = await unequalTransfer();
  const month = new Date(ago(30 * hourMs)).toISOString().slice(0, 7);
  const { stdout } = await at.run("report", "--month", month, "--format", "json");
  expect(JSON.parse(stdout).lacking.join()).toMatch(/transfer|break/);
});

test("a ledger that was never read fails status --check of a fleet as it does of one account", async () => {
  await using at = await house([
    { name: "main" },
    { name: "other", productTypes: [productType, "COIN-FUTURES"] },
  ]);
  for (const account of ["main", "other"]) await at.store(account, hourly(3), allMs, 0);
  expect(await at.check()).toEqual(["never-read", "unchecked", "unchecked"]);
  expect(await at.check("--limit", "1")).toEqual(["never-read", "unchecked", "unchecked"]);
  expect(await at.run("status", "--check", "--limit", "1")).toMatchObject({ code: 1 });
});

test("export warns of a ledger that was never read", async () => {
  await using at = await house([{ name: "main", productTypes: [productType, "COIN-FUTURES"] }]);
  await at.store("main", hourly(3), allMs, 0);
  const { code, stderr } = await at.run(
    "export",
    "--format",
    "csv",
    "--from",
    new Date(ago(dayMs)).toISOString(),
  );
  expect(code).toBe(0);
  expect(stderr).toContain("main/COIN-FUTURES");
});

test("bills of a demo key that a command added are no money in an export, a view or a report", async () => {
  await using at = await house();
  await at.store("main", hourly(2), allMs, 0);
  await at.store("play", hourly(3), allMs, 0);
  await at.db.execute(sql`
    insert into accounts (account, demo, ltv, added_at)
    values ('play', true, false, now())`);
  await at.db.execute(sql`
    insert into streams (account, product_type, is_demo)
    values ('play', '', true)
    on conflict (account, product_type) do update set is_demo = excluded.is_demo`);
  const { code, stdout } = await at.run(
    "export",
    "--format",
    "koinly",
    "--from",
    new Date(ago(dayMs)).toISOString(),
  );
  expect(code).toBe(0);
  expect(stdout.trim().split("\n")).toHaveLength(1 + 2);
  await at.reconcile();
  const { rows: views } = await at.db.execute<{ name: string }>(sql`
    select table_name as name
    from information_schema.columns
    where table_schema = 'analytics'
      and column_name = 'is_demo'`);
  expect(views.length).toBeGreaterThan(10);
  for (const { name } of views) {
    const { rows } = await at.db.execute(sql`
      select 1
      from ${sql.identifier("analytics")}.${sql.identifier(name)}
      where is_demo <> (account = 'play')`);
    expect({ name, rows }).toEqual({ name, rows: [] });
  }
  const month = new Date(ago(dayMs)).toISOString().slice(0, 7);
  const report = await at.run("report", "--format", "html", "--month", month);
  expect(report.stdout.match(/\(demo coins\)/g)).toHaveLength(1);
});

test("a rejected row that was served well since bothers no output", async () => {
  await using at = await house();
  const bills = hourly(12);
  await at.store("main", bills, allMs, 0);
  const [bill = aBill()] = bills;
  const received = JSON.stringify({
    billId: bill.billId,
    cTime: String(bill.cTime),
    amount: "many",
  });
  await at.db.execute(sql`
    insert into rejected_bills (
      account, product_type, digest, received, fault_path, fault, run_id, rejected_at, bill_id
    )
    values (
      'main', ${productType}, 'd', ${received}, 'amount', 'is no number', gen_random_uuid(),
      now() - interval '1 day', ${bill.billId}
    )`);
  await at.reconcile();
  expect(await at.check()).toEqual(["rejected"]);
  const page = { stream: { account: "main", productType } as const, bills, rejected: [] };
  await inTransaction(at.db, (tx) => supersedeRows(tx, [page]));
  expect((await at.served(dayMs - hourMs, 2 * hourMs)).status).toBe(200);
  expect(await at.check()).toEqual([]);
  expect(await at.headline()).toBe("Complete, and it adds up");
});

test("a ledger that was never reconciled is found, as it is yellow on the page", async () => {
  await using at = await house();
  await at.store("main", hourly(12), allMs, 0);
  expect(await at.headline()).toBe("Complete, not yet reconciled");
  expect(await at.check()).toEqual(["unchecked"]);
});

test("a ledger that is 5 h behind is out of date on the page, as it is for status --check", async () => {
  await using at = await house();
  await at.store("main", hourly(12, 6 * hourMs), allMs, 5 * hourMs);
  await at.reconcile();
  expect(await at.check()).toEqual(["behind"]);
  expect(await at.headline()).toBe("Out of date");
});

test("a sync at work hides no break on the page", async () => {
  await using at = await house();
  await at.store("main", hourly(12).toSpliced(5, 1), allMs, 0);
  expect(await at.reconcile()).toEqual(["chain"]);
  expect(await at.headline()).toBe("It does not add up");
  await logRun(at.db, { agoMs: 30_000, outcome: "running" });
  expect(await at.headline()).toBe("It does not add up");
});

test("lost time that was accepted is accepted in every output, and no more than that", async () => {
  await using at = await house();
  await at.store("main", hourly(12), allMs, 0);
  const daysAgo = (days: number) => ago(days * dayMs);
  const lose = (fromDays: number) =>
    storeTime(
      at.db,
      { account: "main", productType },
      { lost: [{ from: daysAgo(fromDays), to: daysAgo(91) }] },
    );
  const month = isoTime(daysAgo(95)).slice(0, 7);
  const reported = async () =>
    JSON.parse(
      (await at.run("report", "--month", month, "--format", "json")).stdout,
    ).lacking.join();
  const exported = async () =>
    (await at.run("export", "--format", "csv", "--from", isoTime(daysAgo(99)))).stderr;
  await lose(100);
  expect(await at.reconcile()).toEqual(["lost"]);
  expect(await at.check()).toEqual(["lost"]);
  expect(await at.headline()).toBe("Some history is lost");
  expect(await reported()).toContain("lost");
  expect(await exported()).toContain("lost");
  expect(await at.served(99 * dayMs, 98 * dayMs)).toMatchObject({ status: 400 });
  const { breaks } = JSON.parse((await at.run("breaks", "list", "--json")).stdout);
  expect(breaks).toMatchObject([{ kind: "lost", difference: String(9 * dayMs) }]);
  const accepted = await at.run("breaks", "accept", `${breaks[0].breakId}`, "--note", "before us");
  expect(accepted).toMatchObject({ code: 0 });
  expect(await at.reconcile()).toEqual([]);
  expect(await at.check()).toEqual([]);
  expect(await at.headline()).toBe("Complete, with an accepted loss of 9 d");
  expect(await reported()).not.toContain("lost");
  expect(await exported()).not.toContain("lost");
  expect(await at.served(99 * dayMs, 98 * dayMs)).toMatchObject({ status: 200 });
  await lose(102);
  expect(await at.reconcile()).toEqual(["lost"]);
  expect(await at.check()).toEqual(["lost"]);
});

test("serve refuses the unread time of a closed ledger for good", async () => {
  await using at = await house();
  await at.store("main", hourly(12), allMs, hourMs);
  await at.db.execute(sql`
    insert into streams (account, product_type, closed_at)
    values ('main', ${productType}, now() - interval '30 minutes')
    on conflict (account, product_type) do update set closed_at = excluded.closed_at`);
  expect(await at.served(40 * minuteMs, 35 * minuteMs)).toMatchObject({ status: 400 });
});
