// A page of the mirror is read in one round trip, by a transaction that writes nothing and is ended in time.

import { sql } from "drizzle-orm";
import { expect, test, vi } from "vitest";
import { readOnlyAtOnce } from "../src/core/postgres/connect.ts";
import { wireBill } from "../src/wings/serve/mirror/listings.ts";
import { readBillPage } from "../src/wings/serve/mirror/read-bill-page.ts";
import { fileDatabase } from "./support/database.ts";

const { db } = await fileDatabase();
const read = readOnlyAtOnce(db, false);
const readKept = readOnlyAtOnce(db, true);

test("a statement that is read at once writes nothing, and is ended by the server in time", async () => {
  const bounds = await read(sql`
    select
      current_setting('transaction_read_only') as read_only,
      current_setting('transaction_isolation') as isolation,
      current_setting('statement_timeout') as statement_timeout`);
  expect(bounds.rows).toEqual([
    { read_only: "on", isolation: "repeatable read", statement_timeout: "20s" },
  ]);
  await expect(read(sql`delete from bills`)).rejects.toMatchObject({ cause: { code: "25006" } });
});

test("a statement that fails at once leaves no transaction behind, and no setting", async () => {
  const asked = Array.from({ length: 30 }, (_, place) =>
    read<{ place: number }>(sql`select 12 / ${place % 3}::int as quotient`).then(
      ({ rows }) => rows,
      (error: unknown) => error,
    ),
  );
  const answers = await Promise.all(asked);
  for (const [place, answer] of answers.entries()) {
    if (place % 3 === 0) expect(answer).toMatchObject({ cause: { code: "22012" } });
    else expect(answer).toEqual([{ quotient: 12 / (place % 3) }]);
  }
  const after = await db.execute(sql`
    select
      current_setting('transaction_read_only') as read_only,
      current_setting('statement_timeout') as statement_timeout`);
  expect(after.rows).toEqual([{ read_only: "off", statement_timeout: "0" }]);
});

test("a page's plan is kept for all accounts, and follows the index in one that is a thousand times as large as most", async () => {
  const [large, small] = [20_000, 20];
  await db.execute(sql`
    insert into bills (
      account, product_type, bill_id, amount, fee, business_type, coin, c_time, ingested_at
    )
    select
      case when n <= ${large} then 'large' else 'small-' || n / ${small} end,
      'USDT-FUTURES', n::text, 1, 0, 'close_long', 'USDT',
      '2026-01-01Z'::timestamptz + n * interval '1 second', now()
    from generate_series(1, 2 * ${large}::int) as n`);
  await db.execute(sql`analyze bills`);
  const ask = (account: string, below: string | undefined) =>
    readBillPage(readKept, {
      ledger: { account, productType: "USDT-FUTURES" },
      ...{ json: wireBill, limit: 100, onlyFunding: false, below },
      ...{ from: undefined, to: undefined, symbol: undefined, coin: undefined },
      businessType: undefined,
    });
  const readRows = async () => {
    const { rows } = await db.execute<{ read: number }>(sql`
      select idx_tup_fetch::int as read from pg_stat_user_tables where relname = 'bills'`);
    return rows[0]?.read ?? Number.NaN;
  };
  const before = await readRows();
  let pages = 0;
  // The server publishes its counts with some delay.
  const fetched = await vi.waitUntil(
    async () => {
      for (const below of [undefined, "10000"]) {
        expect((await ask("large", below)).count).toBe(100);
        expect((await ask(`small-${large / small + 7}`, below)).count).toBe(
          below === undefined ? small : 0,
        );
        pages += 2;
      }
      return (await readRows()) - before || undefined;
    },
    { timeout: 20_000, interval: 100 },
  );
  expect(fetched / pages).toBeLessThan(200);
  const { rows } = await readKept<{ texts: number; plans: number }>(sql`
    select count(*)::int as texts, sum(generic_plans)::int as plans
    from pg_prepared_statements
    where statement like '%) as page'`);
  expect(rows).toEqual([{ texts: 2, plans: expect.any(Number) }]);
  expect(rows[0]?.plans).toBeGreaterThan(2);
});
