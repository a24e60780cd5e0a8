// Views add up for every ledger, show what reconcile finds, and have comments.

import { sql } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import { inTransaction } from "../src/db/connect.ts";
import { seededRandom } from "../src/sandbox/random.ts";
import { fileDatabase } from "./support/database.ts";
import { type Damage, damages } from "./support/ledger-damage.ts";
import { type Habits, smallLedger, storeLedgers } from "./support/small-ledger.ts";

const { tables } = await fileDatabase();
const { db } = tables;

const habits: readonly Habits[] = [
  {},
  { missingPercent: 30 },
  { marginMoves: true },
  { couponMoves: true },
  { rounds: true },
  { erratic: "settle_interest" },
];

beforeAll(async () => {
  const kinds: Readonly<Record<string, Damage | undefined>> = { ...damages, nothing: undefined };
  const ledgers = Object.entries(kinds).flatMap(([name, damage]) =>
    habits.map((habit, index) => {
      const account = `${name}/${index}`;
      const random = seededRandom(account);
      const bills = smallLedger(random, habit);
      return [account, damage?.does(bills, random).bills ?? bills] as const;
    }),
  );
  await storeLedgers(db, new Map(ledgers));
  await reconcile(db, { accounts: undefined, productTypes: undefined }, { isFull: true });
});

/** The rows that a statement finds. There should be none. */
const found = async (statement: ReturnType<typeof sql>) => (await db.execute(statement)).rows;

const categories = sql.raw(
  "realised_pnl + fees_paid + fee_rebates + funding_received + funding_paid + liquidation" +
    " + transfers_in + transfers_out + bonus + copy + delivery + margin + interest + conversion" +
    " + unclassified + rounding",
);

describe.each(["daily_rollforward", "monthly_rollforward"])("%s", (name) => {
  const view = sql.raw(`analytics.${name}`);
  const unit = sql.raw(name.startsWith("daily") ? "day" : "month");

  test("ties: opening and every category make the computed closing, the difference the reported", async () => {
    const untied = sql`
      select account, ${unit}
      from ${view}
      where (opening + ${categories} = computed_closing) is not true
        or (computed_closing + difference = reported_closing) is not true`;
    expect(await found(untied)).toEqual([]);
  });

  test("goes on where the one before ended", async () => {
    const torn = sql`
      select account, ${unit}
      from (
        select
          account,
          ${unit},
          opening,
          lag(reported_closing) over (
            partition by account, product_type, coin
            order by ${unit}
          ) as before
        from ${view}
      ) as rows
      where opening <> before`;
    expect(await found(torn)).toEqual([]);
  });
});

test("a day is complete where all of it was read", async () => {
  await storeLedgers(db, new Map([["partly", smallLedger(seededRandom("partly"))]]));
  await db.execute(sql`
    update ledgers
    set covered = '{[2026-03-03T12:00Z,2026-03-05T00:00Z)}'
    where account = 'partly'`);
  const complete = sql`
    select day::text
    from analytics.daily_rollforward
    where account = 'partly'
      and is_complete`;
  expect(await found(complete)).toEqual([{ day: "2026-03-04" }]);
});

test("has the same days in every time zone, also where a night has no midnight", async () => {
  const daysIn = (zone: string) =>
    inTransaction(db, async (tx) => {
      await tx.execute(sql`select set_config('timezone', ${zone}, true)`);
      const { rows } = await tx.execute<{ days: string }>(sql`
        select count(*) as days
        from analytics.daily_rollforward`);
      return rows[0]?.days;
    });
  // In Beirut, 29 March 2026 began at one o'clock.
  expect(await daysIn("Asia/Beirut")).toBe(await daysIn("UTC"));
});

test("activity shows a difference at each break, of its size, and elsewhere only where one is undone", async () => {
  const { rows } = await db.execute(sql`
    select
      account,
      activity.bill_id,
      activity.difference + activity.rounding as shown,
      ledger_breaks.difference as reconciled
    from analytics.activity
    left join wallet_rules using (account, product_type, category)
    full join (select *, ledger as product_type from ledger_breaks) as ledger_breaks
      using (account, product_type, coin)
    where ledger_breaks.kind <> 'unread'
      and ledger_breaks.anchor = activity.bill_id
      and ledger_breaks.difference <> activity.difference + activity.rounding`);
  expect(rows).toEqual([]);
  const { rows: unexplained } = await db.execute(sql`
    select account, bill_id, difference
    from (
      select
        activity.*,
        lag(difference) over chain as before,
        bool_and(is_testable) over (
          partition by account, product_type, coin
          order by place
          rows 5 preceding
        ) as is_testable
      from analytics.activity
      join wallet_rules using (account, product_type, category)
      window chain as (partition by account, product_type, coin order by place)
    ) as shown
    where difference <> 0
      and is_testable
      and not exists (
        select 1
        from ledger_breaks
        where ledger_breaks.account = shown.account
          and anchor = bill_id
      )
      and not exists (
        select 1
        from ledger_breaks
        where ledger_breaks.account = shown.account
          and kind = 'balance'
          and abs(ledger_breaks.difference + shown.difference) < 0.000001
      )`);
  expect(unexplained).toEqual([]);
});

test("every view and column of the schema has a comment", async () => {
  const silent = sql`
    select relname, attname
    from pg_class
    join pg_attribute on attrelid = pg_class.oid and attnum >= 0
    where relnamespace = 'analytics'::regnamespace
      and col_description(pg_class.oid, attnum) is null
    union all
    select relname, null
    from pg_class
    where relnamespace = 'analytics'::regnamespace
      and obj_description(oid, 'pg_class') is null`;
  expect(await found(silent)).toEqual([]);
});
