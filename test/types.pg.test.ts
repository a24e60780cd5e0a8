// Views, exports and reconcile use a user's own mapping of a business type, which survives upgrades.

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import type { Bill } from "../src/core/contract/bill.ts";
import {
  type Category,
  categories,
  categoryOfWalletType,
} from "../src/core/contract/business-types.ts";
import { listedBusinessTypes } from "../src/core/contract/unified-business-types.ts";
import { mapType } from "../src/core/store/reference/stored-business-types.ts";
import { hourMs } from "../src/lib/time.ts";
import { billAt } from "./support/bills.ts";
import { runCli } from "./support/cli.ts";
import { fileDatabase, openTestDatabase } from "./support/database.ts";
import { migrateAt } from "./support/migrate-at.ts";
import { smallLedgerStart, storeLedgers } from "./support/small-ledger.ts";
import { unproven } from "./support/unproven.ts";

const { db, url } = await fileDatabase();
const env = { DATABASE_URL: url };
const types = (...args: readonly string[]) => runCli(["types", ...args], { env });

/** The type and the amount of each bill, and what it moves the balance by. */
const ledgerOf = (entries: readonly (readonly [string, string, number])[]): Bill[] => {
  let balance = 100;
  return entries.map(([businessType, amount, moved], index) => {
    balance += moved;
    return billAt(smallLedgerStart + (index + 1) * hourMs, 0, {
      ...{ symbol: null, amount, fee: "0", businessType, balance: String(balance) },
    });
  });
};

const listed = async () => {
  const { code, stdout } = await types("--json");
  expect(code).toBe(0);
  const { types: rows } = JSON.parse(stdout) as { types: Record<string, string | null>[] };
  return new Map(rows.map((row) => [row["code"], row]));
};

const shown = async () => {
  const { rows } = await db.execute<{ unclassified: string; bonus: string; bonuses: string }>(sql`
    select
      sum(unclassified)::text as unclassified,
      sum(bonus)::text as bonus,
      (select sum(amount)::text from analytics.bonuses) as bonuses
    from analytics.daily_rollforward`);
  const journal = await runCli(["export", "--format", "hledger"], { env });
  return { ...rows[0], isBooked: /Income:\S*:Bonus/.test(journal.stdout) };
};

test("a user's own mapping is what views, exports and reconcile go by, survives migrate, is shown with who said so, and is taken back", async () => {
  const ledger = ledgerOf([
    ...([
      ["buy", "1", 1],
      ["lucky_draw", "5", 5],
      ["lucky_draw", "2", 2],
    ] as const),
    ...([
      ["lucky_draw", "3", 3],
      ["inner_move", "9", 0],
      ["buy", "1", 1],
    ] as const),
    ["inner_move", "-3", 0],
  ]);
  await storeLedgers(db, new Map([["main", ledger]]));
  expect(await shown()).toEqual({ unclassified: "16", bonus: "0", bonuses: null, isBooked: false });
  const before = await runCli(["reconcile"], { env });
  expect([before.code, before.stdout.match(/^#\d+ +\w+/gm)]).toEqual([
    ...[1, ["#1     balance", "#2     balance"]],
  ]);

  expect(await types("set", "lucky_draw", "bonus")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^lucky_draw: bonus, by you; this program lists it as unclassified\nthe next export /,
    ),
  });
  await types("set", "inner_move", "margin");
  await db.execute(sql`update business_types set meaning = 'of an older version'`);
  await migrateAt(url);
  expect((await listed()).get("lucky_draw")).toEqual({
    ...{ code: "lucky_draw", category: "bonus", listedCategory: "unclassified" },
    ...{ categoryByUser: "bonus", meaning: "of an older version" },
  });
  expect(await shown()).toEqual({ unclassified: "0", bonus: "10", bonuses: "10", isBooked: true });
  // Without --full: because a mapping changed, the check looks at all bills.
  expect(await runCli(["reconcile"], { env })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/nothing is open/),
  });

  expect((await types()).stdout).toMatch(/^lucky_draw +bonus +you \(list: unclassified\) /m);
  expect(await types("unset", "lucky_draw")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^lucky_draw: unclassified, as this program lists it\n/),
  });
  expect((await types()).stdout).toMatch(/^lucky_draw +unclassified +list /m);
  expect(await shown()).toMatchObject({ unclassified: "10", bonus: "0" });
  // It wins over a type of the program's list, too.
  await types("set", "sell", "conversion");
  const rows = await listed();
  expect(rows.size).toBe(listedBusinessTypes.length + 2);
  expect(rows.get("sell")).toMatchObject({ category: "conversion", listedCategory: "trade" });
  // Also of a type that most bills have, transfers are found.
  await types("set", "buy", "transfer");
  const { rows: transfers } = await db.execute(sql`
    select distinct business_type
    from analytics.transfers`);
  expect(transfers).toEqual([{ business_type: "buy" }]);
});

test.each<[readonly string[], RegExp]>([
  [
    ["lucky_draw", "bonuses"],
    /^"bonuses" is not a category, did you mean bonus\?: transfer, trade, .*unclassified$/m,
  ],
  [
    ["luky_draw", "bonus"],
    /^"luky_draw" is neither a listed business type .*, did you mean lucky_draw\?; "types" lists them$/m,
  ],
])("types set %j is refused, with the remedy, and changes nothing", async (args, message) => {
  const before = await listed();
  expect(await types("set", ...args)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(message),
  });
  expect(await listed()).toEqual(before);
});

test("a category written into the table by hand is refused, where the next sync would have taken it back", async () => {
  for (const [statement, constraint] of [
    ["update business_types set category = 'bonus' where code = 'buy'", "is_by_user_or_listed"],
    [
      "update business_types set category = 'x', category_by_user = 'x' where code = 'buy'",
      "is_known",
    ],
  ] as const)
    await expect(db.execute(sql.raw(statement))).rejects.toMatchObject({
      cause: { constraint: `business_types_category_${constraint}` },
    });
});

test("a wallet's type that is in no list has the category of its name from migrate, whatever an older version said, unless a user mapped it", async () => {
  const met = [
    ["financial/financial_lock_out", "unclassified", "transfer"],
    ["trace/trace_transfer_user_out", "copy", "transfer"],
    ["loan/interest", "loan", "interest"],
    ["other/never seen", "bonus", "unclassified"],
    ["other/LOTTO_REWARDS", "unclassified", "deposit"],
  ] as const;
  for (const [code, category] of met)
    await db.execute(sql`
      insert into business_types (code, category, listed_category, meaning)
      values (${code}, ${category}, ${category}, 'met')`);
  expect(await types("set", "other/LOTTO_REWARDS", "deposit")).toMatchObject({ code: 0 });
  await migrateAt(url);
  const rows = await listed();
  expect(met.map(([code]) => rows.get(code)?.["category"])).toEqual(met.map(([, , now]) => now));
  expect(rows.get("other/LOTTO_REWARDS")).toMatchObject({
    ...{ listedCategory: "bonus", categoryByUser: "deposit" },
  });
});

test.each<[string, string, Category, Category]>([
  ["in the list", "append_margin", "interest", "margin"],
  ["in no list", "loan/interest", "margin", "interest"],
])(
  "after migrate changed the category of a type %s, reconcile checks all bills again, and nothing is said to be changed by hand",
  async (_, code, before, now) => {
    await using database = await openTestDatabase();
    const ledger = ledgerOf([
      ["buy", "1", 1],
      [code, "5", before === "margin" ? 0 : 5],
      ["buy", "1", 1],
    ]);
    await storeLedgers(database.db, new Map([["main", ledger]]));
    await database.db.execute(sql`
      update business_types
      set category = ${before}, listed_category = ${before}
      where code = ${code}`);
    const check = () =>
      reconcile(database.db, { accounts: undefined, productTypes: undefined }, { isFull: false });
    const toCheckAnew = async () => {
      await migrateAt(database.url);
      const { rows } = await database.db.execute(sql`
        select not isfinite(checked_before) as is_anew
        from reconciled_chains`);
      return rows;
    };
    expect((await check()).breaks).toEqual([]);
    expect(await toCheckAnew()).toEqual([{ is_anew: true }]);
    expect(await unproven(database.db)).toEqual([]);
    expect((await check()).breaks).toMatchObject([{ kind: "balance" }]);
    expect(await toCheckAnew()).toEqual([{ is_anew: false }]);
    // Where a user chose the category, another one in the list changes nothing.
    await mapType(database.db, code, now);
    await check();
    await database.db.execute(sql`
      update business_types
      set listed_category = ${before}
      where code = ${code}`);
    expect(await toCheckAnew()).toEqual([{ is_anew: false }]);
  },
);

test("the categories are those of the list", () => {
  const ofGroups = ["deposit/any", "withdraw/any"].map(categoryOfWalletType);
  const listed = listedBusinessTypes.map(({ category }) => category);
  expect(new Set([...listed, ...ofGroups])).toEqual(new Set(categories));
});
