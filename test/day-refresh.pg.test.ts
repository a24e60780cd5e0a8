import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { setDaysRight } from "../src/app/store-days.ts";
import { checkStoredDays } from "../src/commands/doctor/stored-days.ts";
import { epochMs } from "../src/contract/time.ts";
import { inTransaction, openDatabase } from "../src/db/connect.ts";
import { findWrongDays } from "../src/db/days/compare-days.ts";
import { markMeaningOf } from "../src/db/days/mark-days.ts";
import { holdMeaning } from "../src/db/days/meaning-turns.ts";
import { refreshAllDays, refreshDaysOf, refreshSomeDays } from "../src/db/days/refresh-days.ts";
import { checkLease, pauseHolder } from "../src/db/lease/lease.ts";
import { migrate } from "../src/db/migrate.ts";
import { upsertBills } from "../src/ledger/upsert-bills.ts";
import { aBill, aStream } from "./support/bills.ts";
import { fileDatabase, testDatabase } from "./support/database.ts";
import { migrateBefore } from "./support/earlier-schema.ts";
import { untilBlocked } from "./support/held-store.ts";
import { query } from "./support/query.ts";

const { tables } = await fileDatabase();
const { db } = tables;

const noon = epochMs(Date.UTC(2026, 2, 3, 12));
const never = new AbortController().signal;

/** Stores a bill as a page does. */
const store = (stream: ReturnType<typeof aStream>, billId: string, amount: string) =>
  inTransaction(db, async (tx) => {
    await tx.execute(sql`
      insert into leases (account, holder, epoch, expires_at)
      values (${stream.account}, 'test', 1, clock_timestamp())
      on conflict (account) do nothing`);
    await checkLease(tx, { account: stream.account, epoch: 1 });
    await upsertBills(tx, [{ stream, bills: [aBill({ billId, amount, cTime: noon })] }]);
  });

async function netOf(account: string): Promise<string | undefined> {
  const { rows } = await db.execute<{ net: string }>(
    sql`select trim_scale(sum(realised_pnl))::text as net from ledger_days where account = ${account}`,
  );
  return rows[0]?.net;
}

const marksOf = async (account: string) =>
  (
    await db.execute<{ cause: string }>(
      sql`select cause from dirty_days where account = ${account} order by cause`,
    )
  ).rows.map(({ cause }) => cause);

test("days that one process computed before a page are not stored over those that another computed after it", async () => {
  const stream = aStream();
  const { account } = stream;
  await store(stream, "1", "1");
  const computed = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  // It has paused the account's holder and computed the day, and now waits.
  const slow = inTransaction(db, async (tx) => {
    await pauseHolder(tx, account);
    await tx.execute(sql`
      insert into ledger_days
      select * from current_ledger_days where account = ${account}`);
    await tx.execute(sql`delete from dirty_days where account = ${account}`);
    computed.resolve();
    await goOn.promise;
  });
  await computed.promise;
  const page = store(stream, "2", "10");
  await untilBlocked(db, 1);
  const fast = page.then(() => refreshAllDays(db, never));
  goOn.resolve();
  await Promise.all([slow, fast]);
  expect(await netOf(account)).toBe("11");
  expect(await findWrongDays(db, account)).toEqual([]);
});

test("a refresh waits for whoever writes the account", async () => {
  const stream = aStream();
  const { account } = stream;
  await store(stream, "1", "1");
  const goOn = Promise.withResolvers<void>();
  const isWritten = Promise.withResolvers<void>();
  const writer = inTransaction(db, async (tx) => {
    await checkLease(tx, { account, epoch: 1 });
    await upsertBills(tx, [{ stream, bills: [aBill({ billId: "2", amount: "10", cTime: noon })] }]);
    isWritten.resolve();
    await goOn.promise;
  });
  await isWritten.promise;
  const refresh = refreshSomeDays(db, { account });
  await untilBlocked(db, 1);
  goOn.resolve();
  await Promise.all([writer, refresh]);
  expect(await netOf(account)).toBe("11");
  expect(await marksOf(account)).toEqual([]);
});

test("while what bills mean is being changed no day is stored, and nothing fails", async () => {
  const stream = aStream();
  const { account } = stream;
  await store(stream, "1", "1");
  const goOn = Promise.withResolvers<void>();
  const isHeld = Promise.withResolvers<void>();
  const change = inTransaction(
    db,
    async (tx) => {
      await holdMeaning(tx, account);
      await tx.execute(sql`select 1`);
      isHeld.resolve();
      await goOn.promise;
      await markMeaningOf(tx, account, sql`from bills where account = ${account}`);
    },
    { isolation: "repeatable read" },
  );
  await isHeld.promise;
  await store(stream, "2", "10");
  await expect(refreshSomeDays(db, { account })).rejects.toThrow();
  await refreshDaysOf((scope) => refreshSomeDays(db, scope), { account });
  expect(await netOf(account)).toBe(null);
  goOn.resolve();
  await change;
  // It does not see a page's mark, and is not stopped by it.
  expect(await marksOf(account)).toEqual(["bills", "meaning"]);
  await refreshAllDays(db, never);
  expect(await netOf(account)).toBe("11");
});

test("what was changed by hand is found, and set right", async () => {
  const stream = aStream();
  const { account } = stream;
  await store(stream, "1", "1");
  await refreshAllDays(db, never);
  expect(await findWrongDays(db, account)).toEqual([]);
  await db.execute(sql`update bills set amount = 5 where account = ${account}`);
  const wrong = [{ account, wallet: stream.productType, day: "2026-03-03" }];
  expect(await findWrongDays(db, account)).toEqual(wrong);
  expect(await checkStoredDays(db, new Set([account]))).toMatchObject({
    status: "warn",
    name: "days",
  });
  const options = { signal: never, statementMaxMs: 60_000 };
  expect(await setDaysRight(db, [account], options)).toEqual(wrong);
  expect(await findWrongDays(db, account)).toEqual([]);
  expect(await netOf(account)).toBe("5");
  expect(await checkStoredDays(db, new Set([account]))).toMatchObject({ status: "ok" });
});

test("a page of bills that are stored already marks no day", async () => {
  const stream = aStream();
  await store(stream, "1", "1");
  await refreshAllDays(db, never);
  await store(stream, "1", "1.0");
  expect(await marksOf(stream.account)).toEqual(["bills"]);
  await refreshAllDays(db, never);
  await store(stream, "1", "1.0");
  expect(await marksOf(stream.account)).toEqual([]);
});

test("a transaction stores no more days after one of very many bills, and the next one goes on", async () => {
  const { account, productType } = aStream();
  await db.execute(sql`
    insert into bills (account, product_type, bill_id, amount, fee, business_type, coin, c_time, ingested_at)
    select ${account}, ${productType}, n, 1, 0, 'close_long', 'USDT', c_time, clock_timestamp()
    from generate_series(1, 32010) as n
    cross join lateral (
      select timestamptz '2026-03-03T01:00Z' + interval '1 day' * (n / 32005) as c_time
    ) as placed`);
  await db.execute(sql`
    insert into dirty_days
    select distinct account, product_type, (c_time at time zone 'UTC')::date, 'bills'
    from bills
    where account = ${account}
    union all
    select ${account}, ${productType}, '2026-03-02', 'bills'`);
  expect(await refreshSomeDays(db, { account })).toEqual({ days: 2, isLast: false });
  expect(await refreshSomeDays(db, { account })).toEqual({ days: 1, isLast: true });
  expect(await netOf(account)).toBe("32010");
  expect(await findWrongDays(db, account)).toEqual([]);
});

test("days that an earlier version stored without a count of bills have it after the migration, and are stored anew", async () => {
  await using old = await testDatabase({ isEmpty: true });
  await migrateBefore(old.url, "_symbol_day_bills");
  await query(
    old.url,
    `insert into bills (
       account, product_type, bill_id, symbol, amount, fee, business_type, coin, c_time, ingested_at
     )
     select 'main', 'USDT-FUTURES', n, 'BTCUSDT', 1, -0.5, 'close_long', 'USDT', '2026-03-03T12:00Z', now()
     from generate_series(1, 3) as n;
     insert into symbol_days
     values (
       'main', 'USDT-FUTURES', 'USDT-FUTURES', '2026-03-03', 'USDT', 'BTCUSDT', 3, -1.5, 0, 0, 0, 0, 0, 3, 3, 0
     )`,
  );
  await migrate(old.url);
  const counts = (table: string) => query(old.url, `select symbol, bills, fee_bills from ${table}`);
  const counted = [{ symbol: "BTCUSDT", bills: "3", fee_bills: "3" }];
  expect(await counts("current_symbol_days")).toEqual(counted);
  await using opened = openDatabase(old.url);
  await refreshAllDays(opened.db, never);
  expect(await counts("symbol_days")).toEqual(counted);
  expect(await findWrongDays(opened.db, "main")).toEqual([]);
});

test.each([
  [100, "100 times"],
  [101, null],
])(
  "of %i transfers of a day each is found once, beside those of another coin at the same times",
  async (legs, times) => {
    const { account, productType } = aStream();
    await db.execute(sql`
    insert into bills (account, product_type, bill_id, amount, fee, business_type, coin, c_time, ingested_at)
    select ${account}, ${productType}, coin || n, n, 0, 'trans_from_exchange', coin, c_time, clock_timestamp()
    from generate_series(1, ${legs}::int) as n
    cross join (values ('USDT', ${legs}::int), ('BTC', 3)) as coins (coin, most)
    cross join lateral (select timestamptz '2026-03-03T01:00Z' + interval '1 minute' * n as c_time) as placed
    where n <= most`);
    await db.execute(sql`
    insert into dirty_days values (${account}, ${productType}, '2026-03-03', 'bills')`);
    const found = async () =>
      (
        await db.execute<{ coin: string; found: string; bills: string }>(sql`
        select coin, count(*) as found, count(distinct bill_id) as bills
        from known_entries
        where account = ${account}
          and category = 'transfer'
        group by coin
        order by coin`)
      ).rows;
    const expected = [
      { coin: "BTC", found: "3", bills: "3" },
      { coin: "USDT", found: `${legs}`, bills: `${legs}` },
    ];
    expect(await found()).toEqual(expected);
    await refreshAllDays(db, never);
    expect(await found()).toEqual(expected);
    const { rows } = await db.execute<{ coin: string; times: string | null }>(sql`
    select coin, cardinality(sought_times) || ' times' as times
    from ledger_days
    where account = ${account}
    order by coin`);
    expect(rows).toEqual([
      { coin: "BTC", times: "3 times" },
      { coin: "USDT", times },
    ]);
  },
);
