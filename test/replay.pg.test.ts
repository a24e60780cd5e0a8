import { commitRecovered } from "../src/wings/recovery/recovery.ts";
// A rejected row is stored once it can be read, and what was served last wins (served in many orders).

import { createHash } from "node:crypto";
import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { inTransaction } from "../src/core/postgres/connect.ts";
import { replayRejected } from "../src/core/store/replay-rows.ts";
import { upsertBills } from "../src/core/store/store-bills.ts";
import type { Ledger } from "../src/core/words/ledger.ts";
import type { RejectedRow } from "../src/core/words/page.ts";
import { LeaseLostError } from "../src/lib/errors.ts";
import { aBill } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { aPage, holdLedger, minutes, plan } from "./support/held-store.ts";
import { openHouse } from "./support/house.ts";

const tables = await fileDatabase();

/** A row as the exchange serves it. */
const aRow = (but: object = {}) => ({
  billId: "1098396773329305606",
  symbol: "BTCUSDT",
  amount: "12.50",
  fee: "-0.0123",
  feeByCoupon: "",
  businessType: "close_long",
  coin: "USDT",
  balance: "1234.56789",
  cTime: "1700000000000",
  ...but,
});

type Rejection = {
  /** A string stands for itself; anything else becomes JSON. */
  readonly row: unknown;
  /** In seconds before the present. */
  readonly ago?: number;
  readonly fault?: string;
};

/** Stores rejected rows, as if an older version had rejected them. */
async function reject(
  { account, productType }: Ledger,
  rejections: readonly Rejection[],
  { db } = tables,
): Promise<void> {
  for (const { row, ago = 60, fault = "is not known to version 0.0" } of rejections) {
    const received = typeof row === "string" ? row : JSON.stringify(row);
    const digest = createHash("sha256").update(received).digest("hex");
    await db.execute(sql`
      insert into rejected_bills (
        account, product_type, digest, received, path, reason, rejected_at
      )
      values (
        ${account}, ${productType}, ${digest}, ${received}, 'old', ${fault},
        clock_timestamp() - ${ago} * interval '1 s'
      )`);
  }
}

const replay = ({ account }: Ledger, stopIfAsked = () => {}) =>
  replayRejected(tables.db, { account, epoch: 1 }, account, stopIfAsked);

const storedOf = async ({ account }: Ledger, table: "bills" | "bill_revisions" = "bills") => {
  const { rows } = await tables.db.execute<{ bill: string }>(sql`
    select bill_id || ' ' || amount || ' ' || coalesce(extra::text, '') as bill
    from ${sql.raw(table)}
    where account = ${account}
    order by bill_id`);
  return rows.map(({ bill }) => bill.trim());
};

const rejectedOf = async ({ account }: Ledger) => {
  const { rows } = await tables.db.execute(sql`
    select received, path, reason, closed_at is not null as resolved
    from rejected_bills
    where account = ${account}
    order by rejected_at`);
  return rows;
};

describe("a replay", () => {
  test("puts what can be read among the bills, every digit of it, and leaves what cannot, with its reason of now", async () => {
    const { ledger } = await holdLedger(tables.db);
    const exact =
      '{"billId":9007199254740993,"amount":1.10,"fee":"0E-8","businessType":"x","coin":"U","cTime":"1","new":0.10}';
    await reject(ledger, [
      { row: exact, ago: 4 },
      { row: aRow({ billId: "7" }), ago: 3 },
      { row: aRow({ amount: "abc" }), ago: 2 },
      { row: "no JSON", ago: 1 },
    ]);
    // Of a run that lost the account.
    const { account } = ledger;
    const lost = replayRejected(tables.db, { account, epoch: 2 }, account, () => {});
    await expect(lost).rejects.toThrow(LeaseLostError);
    expect(await storedOf(ledger)).toEqual([]);
    expect(await replay(ledger)).toBe(2);
    expect(await storedOf(ledger)).toEqual([
      "7 12.50",
      '9007199254740993 1.10 {"fee":"0E-8","new":0.10}',
    ]);
    expect(await rejectedOf(ledger)).toEqual([
      { received: exact, path: "old", reason: "is not known to version 0.0", resolved: true },
      expect.objectContaining({ resolved: true }),
      expect.objectContaining({
        ...{ path: "amount", reason: expect.stringContaining("decimal"), resolved: false },
      }),
      { received: "no JSON", path: "", reason: "is not JSON", resolved: false },
    ]);
    expect(await replay(ledger)).toBe(0);
  });

  test.each([
    ["USDT-FUTURES", { marginCoin: "USDT", futureTaxType: "close_long" }],
    // A bill of a unified account has the same names of its fields.
    ["UTA-SPOT", { coin: "USDT", type: "close_long", balance: "9" }],
  ] as const)(
    "reads a tax record of %s as one, and leaves a bill that has its balance",
    async (productType, fields) => {
      const { ledger: held, store } = await holdLedger(tables.db);
      const ledger = { ...held, productType };
      const rejected = ["6", "7"].map((id): RejectedRow => {
        const received = { id, amount: "1", fee: "0", ts: "1700000000000", ...fields };
        const fault = { path: "old", reason: "is not known to version 0.0" };
        return { received, text: JSON.stringify(received), fault };
      });
      const commit = { ledger, window: undefined, bills: [], rejected };
      await store.write((tx) => commitRecovered(tx, commit));
      await inTransaction(tables.db, (tx) =>
        upsertBills(tx, [{ ledger, bills: [aBill({ billId: "7" })] }]),
      );
      expect(await replay(ledger)).toBe(2);
      const stored = await tables.db.execute(sql`
        select bill_id as id, balance::text, business_type as type, source
        from bills
        where account = ${ledger.account}
        order by bill_id`);
      const balance = productType === "UTA-SPOT" ? "9" : null;
      expect(stored.rows).toEqual([
        { id: "6", balance, type: "close_long", source: "tax-records" },
        { id: "7", balance: "1234.56789", type: "close_long", source: null },
      ]);
    },
  );

  test("goes through any number of rejected rows in batches, each row once", async () => {
    const { ledger } = await holdLedger(tables.db);
    const { account, productType } = ledger;
    await tables.db.execute(sql`
      insert into rejected_bills (
        account, product_type, digest, received, path, reason, rejected_at
      )
      select
        ${account}, ${productType}, n::text,
        case when n % 2 = 0 then '"broken"' else replace(${JSON.stringify(aRow())}, '1098396773329305606', n::text) end,
        '', '', '2026-01-01Z'
      from generate_series(1, 1201) as n`);
    let batches = 0;
    expect(await replay(ledger, () => batches++)).toBe(601);
    expect(batches).toBe(3);
    expect(await storedOf(ledger)).toHaveLength(601);
  });
});

describe("what was served last wins in a replay", () => {
  const broken = (but: object): RejectedRow => ({
    received: aRow(but),
    text: JSON.stringify(aRow(but)),
    fault: { path: "old", reason: "is not known to version 0.0" },
  });
  const pages = {
    /** A good row, and two that an older version could not read. */
    G: { bills: [aBill({ amount: "99" })] },
    A: { rejected: [broken({ amount: "1" })] },
    B: { rejected: [broken({ amount: "2" })] },
    /** A row of another bill. */
    o: { bills: [aBill({ billId: "7" })], rejected: [broken({ billId: "8" })] },
    /** A row whose id could not be read then. */
    x: { rejected: [broken({ billId: "" })] },
  };
  type Name = keyof typeof pages;

  async function served(order: string) {
    const held = await holdLedger(tables.db);
    const window = minutes(0, 10);
    await plan(held, [window]);
    let cursorBefore: string | undefined;
    const serve = async (names: string) => {
      for (const name of names) {
        const next = { cursor: `${Number(cursorBefore ?? 0) + 1}` };
        await held.store.commitPage(
          aPage(held.ledger, window, next, { cursorBefore, ...pages[name as Name] }),
        );
        cursorBefore = next.cursor;
      }
    };
    await serve(order);
    return { ...held, serve };
  }

  test.each([
    ["A", "1"],
    ["AG", "99"],
    ["GA", "1"],
    ["AGA", "1"],
    ["GAG", "99"],
    ["GAGoA", "1"],
    ["AoGAGo", "99"],
    ["AAGGAA", "1"],
    ["AB", "2"],
    ["ABA", "1"],
    ["GABAG", "99"],
    ["AGBGA", "1"],
  ])("served as %s: it is %s", async (order, amount) => {
    const { ledger } = await served(order);
    await replay(ledger);
    expect((await storedOf(ledger)).filter((bill) => bill.startsWith(aRow().billId))).toEqual([
      `${aRow().billId} ${amount}`,
    ]);
    expect((await rejectedOf(ledger)).filter(({ resolved }) => resolved === false)).toEqual([]);
  });

  test.each(["A", "ABo", "GA", "AG", "x"])(
    "served as %s, and its last page again: no row is written",
    async (order) => {
      const { ledger, serve } = await served(order);
      const versions = () =>
        tables.db.execute(sql`
          select xmin::text from bills where account = ${ledger.account}
          union all select xmin::text from rejected_bills where account = ${ledger.account}`);
      // Before that, another row of the bill was the last one.
      await serve(order.at(-1) ?? "");
      const before = (await versions()).rows;
      await serve(order.at(-1) ?? "");
      expect((await versions()).rows).toEqual(before);
    },
  );
});

describe("the command", () => {
  const house = () => openHouse({ seed: "replay", density: 0.02 });
  const main = { account: "main", productType: "USDT-FUTURES" } as const;

  test("sync begins with the rows that can be read now, and leaves the others to breaks list", async () => {
    await using at = await house();
    expect((await at.run("sync")).code).toBe(0);
    const bill = at.sandbox.account.ledger.bills["USDT-FUTURES"].findLast(
      // Old enough that a sync's first question, for the newest bills, does not show that it is missing.
      ({ cTime }) => cTime < Date.now() - 45 * 86_400_000,
    );
    await at.db.execute(
      sql`delete from bills where product_type = 'USDT-FUTURES' and bill_id = ${bill?.billId}`,
    );
    await reject(main, [{ row: bill?.row }, { row: aRow({ amount: "abc" }) }], at);
    const tried = await at.run("sync");
    expect(tried.code).toBe(1);
    expect(tried.stderr).toContain("main: 1 rejected row can be read now");
    expect(tried.stdout).toContain("1 row broke the API's contract");
    const { rows } = await at.db.execute(
      sql`select 1 from bills where product_type = 'USDT-FUTURES' and bill_id = ${bill?.billId}`,
    );
    expect(rows).toHaveLength(1);

    const { rejected } = JSON.parse((await at.run("breaks", "list", "--json")).stdout);
    expect(rejected).toMatchObject([{ ...main, path: "amount", digest: expect.any(String) }]);
    const accept = ["accept", rejected[0].digest, "--note", "asked support", "--by", "Ann"];
    expect(await at.run("breaks", ...accept)).toMatchObject({
      code: 0,
      stdout: "accepted 1 rejected row by Ann: asked support\n",
    });
    expect(await at.run("breaks", "list", "--all")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/ amount: is not a decimal .* asked support +Ann$/m),
    });
    // A check would find that a row was deleted by hand.
    expect((await at.run("sync", "--no-reconcile")).code).toBe(0);
  });

  test("a row whose bill was served well since is rejected no longer, for any command", async () => {
    await using at = await house();
    await reject(main, [{ row: aRow({ amount: "abc" }) }], at);
    expect((await at.run("sync", "--no-reconcile")).code).toBe(1);
    await at.db.execute(sql`update rejected_bills set superseded_at = now()`);
    const after = await at.run("sync", "--no-reconcile");
    expect(after).toMatchObject({ code: 0, stdout: expect.not.stringContaining("not stored") });
    expect(JSON.parse((await at.run("status", "--json")).stdout).ledgers[0].openRejected).toBe(0);
    expect(await at.run("breaks", "list")).toMatchObject({ code: 0 });
    const { rows } = await at.db.execute(sql`
      select 1 from analytics.data_quality where check_name = 'rejected-rows'`);
    expect(rows).toEqual([]);
  });

  test("breaks accept takes all of the rows, or none; breaks reopen takes it back", async () => {
    await using at = await house();
    await reject(main, [{ row: { billId: "1" } }, { row: { billId: "2" } }], at);
    const list = async () => {
      const { stdout } = await at.run("breaks", "list", "--json");
      return (JSON.parse(stdout).rejected as { digest: string }[]).map(({ digest }) => digest);
    };
    const digests = await list();
    expect(digests).toHaveLength(2);
    const accept = (words: string) => at.run("breaks", "accept", words, "--note", "asked support");
    const none = "0".repeat(64);
    expect(await accept(`${digests[0]},${none}`)).toMatchObject({
      ...{
        code: 2,
        stderr: expect.stringContaining(`there is no open rejected row ${none}; nothing`),
      },
    });
    expect(await list()).toEqual(digests);
    expect((await accept(digests.join())).code).toBe(0);
    const { rows } = await at.db.execute(sql`
      select note, closed_at is not null as resolved from rejected_bills`);
    const accepted = { note: "asked support", resolved: true };
    expect(rows).toEqual([accepted, accepted]);
    expect(await at.run("breaks", "reopen", digests[1] ?? "", "--by", "Ann")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("keeps neither --note nor --by"),
    });
    expect(await at.run("breaks", "reopen", digests[1] ?? "")).toMatchObject({ code: 0 });
    expect(await list()).toEqual([digests[1]]);
  });
});
