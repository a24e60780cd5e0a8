// Breaks are numbered without holes, accepted and reopened by name with every decision kept, and name the
// rejected row beside them.

import { sql } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { reconcile as reconcileLedger } from "../src/check/reconcile/reconcile.ts";
import type { Bill } from "../src/core/contract/bill.ts";
import { hourMs } from "../src/lib/time.ts";
import { billAt } from "./support/bills.ts";
import { runCli } from "./support/cli.ts";
import { fileDatabase } from "./support/database.ts";
import { smallLedgerStart, storeLedgers } from "./support/small-ledger.ts";
import { storeBills } from "./support/stored-ledger.ts";

const { db, url } = await fileDatabase();
const env = { DATABASE_URL: url };
const reconcile = (...args: readonly string[]) => runCli(["reconcile", ...args], { env });
const breaks = (...args: readonly string[]) => runCli(["breaks", ...args], { env });

/** Bills an hour apart, each of 10. */
const ledger: readonly Bill[] = Array.from({ length: 30 }, (_, index) =>
  billAt(smallLedgerStart + index * hourMs, 0, {
    ...{ amount: "10", fee: "0", balance: String(1_000 + index * 10) },
  }),
);
const without = (...places: readonly number[]) =>
  ledger.filter((_, index) => !places.includes(index));

const numbers = async (account?: string) => {
  const { rows } = await db.execute<{ break_id: string; state: string }>(sql`
    select break_id, state
    from ledger_breaks
    where ${account === undefined ? sql`true` : sql`account = ${account}`}
    order by break_id`);
  return rows.map(({ break_id, state }) => `#${break_id} ${state}`);
};

const listed = async (...args: readonly string[]) => {
  const { stdout } = await breaks("list", "--json", ...args);
  return (JSON.parse(stdout) as { breaks: Record<string, unknown>[] }).breaks;
};

beforeAll(async () => {
  await storeLedgers(db, new Map([["main", without(2, 5, 8, 11, 14)]]));
});

describe("breaks", () => {
  test("are numbered without holes, however often they were found", async () => {
    for (const args of [[], [], ["--full"]]) expect((await reconcile(...args)).code).toBe(1);
    await storeLedgers(db, new Map([["other", without(3)]]));
    await reconcile();
    await reconcile("--full");
    await storeLedgers(db, new Map([["third", without(3, 6)]]));
    await reconcile();
    expect(await numbers()).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((id) => `#${id} open`));
  });

  test("are accepted several at a time, with a name, and listed without a check: the open ones, or all with who decided what", async () => {
    const end = await breaks("accept", "1, 3-4", "#6", "--note", "lost in the move", "--by", "Ann");
    expect(end).toMatchObject({
      code: 0,
      stdout: "accepted 4 breaks (#1, #3, #4, #6) by Ann: lost in the move\n",
    });
    for (const open of [await reconcile(), await breaks("list")]) {
      expect(open).toMatchObject({ code: 1, stdout: expect.not.stringContaining("state") });
      expect(open.stdout.match(/^#\d+/gm)).toEqual(["#2", "#5", "#7", "#8"]);
    }
    const all = await breaks("list", "--all", "--account", "main");
    expect(all.stdout.match(/^#\d+ +(?:open|accepted) +balance/gm)).toHaveLength(5);
    expect(all.stdout).toMatch(/^#1 +accepted +balance +main/m);
    expect(all.stdout).toMatch(/^#1 +accepted +\d{4}-\S+ \S+Z +Ann +lost in the move$/m);
  });

  test("are reopened, and every decision is kept", async () => {
    const end = await breaks("reopen", "3", "--by", "Bob", "--note", "found the mail");
    expect(end).toMatchObject({ code: 0, stdout: "reopened 1 break (#3)\n" });
    expect((await reconcile()).stdout).toMatch(/^#3 +balance/m);
    await breaks("accept", "3", "--note", "again");
    const [, , third] = await listed("--all");
    expect(third).toMatchObject({
      breakId: 3,
      state: "accepted",
      note: "again",
      acceptedBy: null,
      decisions: [
        { decision: "accepted", decidedBy: "Ann", note: "lost in the move" },
        { decision: "reopened", decidedBy: "Bob", note: "found the mail" },
        { decision: "accepted", decidedBy: null, note: "again" },
      ],
    });
  });

  test("of another difference than was accepted are open again, which the history tells", async () => {
    const account = "other";
    await db.execute(
      sql`delete from bills where account = ${account} and bill_id = ${ledger[2]?.billId}`,
    );
    await reconcile("--full");
    expect(await numbers(account)).toEqual(["#6 open"]);
    expect((await listed("--all")).find(({ breakId }) => breakId === 6)).toMatchObject({
      difference: "20",
      ...{ note: null, acceptedBy: null, acceptedAt: null },
      decisions: [
        { decision: "accepted", decidedBy: "Ann" },
        { decision: "reopened", note: "its difference was 10 when it was accepted" },
      ],
    });
    const { rows } = await db.execute(sql`
      select breaks.break_id::int, breaks.state, breaks.accepted_by, count(place)::int as decisions
      from analytics.breaks
      left join analytics.break_history using (account, break_id)
      where account = 'main'
        or breaks.break_id = 6
      group by breaks.break_id, breaks.state, breaks.accepted_by
      order by breaks.break_id`);
    expect(rows.map((row) => Object.values(row))).toEqual([
      [1, "accepted", "Ann", 1],
      [2, "open", null, 0],
      [3, "accepted", null, 3],
      [4, "accepted", "Ann", 1],
      [5, "open", null, 0],
      [6, "open", null, 2],
    ]);
  });

  test.each<[readonly string[], RegExp]>([
    [
      ["accept", "2,3,99", "--note", "x"],
      /^there is no open break #3 or #99; nothing was changed/m,
    ],
    [["reopen", "1,2"], /^there is no accepted break #2; /m],
    [["accept", "2;3", "--note", "x"], /^"2;3" is neither the number of a break nor .*; several/],
    [["reopen", "7-3"], /7-3 goes backwards/],
    [["reopen", "1-999999999"], /these are more than 10000 breaks/],
    [["accept", "2", "0".repeat(64), "--note", "x"], /^numbers of breaks and digests of rejected/],
    [["accept", "2", "--note", " "], /^breaks accept needs --note, and in it the reason/m],
    [["accept", "2", "--note", "…"], /^breaks accept needs --note, and/m],
  ])("refuse %j, and change nothing", async (args, message) => {
    const before = await numbers();
    expect(await breaks(...args)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(message),
    });
    expect(await numbers()).toEqual(before);
  });
});

test("what a category's bills fit is counted anew once a break is resolved, without --full", async () => {
  const account = "counted";
  const scope = { accounts: [account], productTypes: undefined };
  const fits = async () => {
    const { rules, isFull } = await reconcileLedger(db, scope, { isFull: false });
    return { isFull, fits: rules.map(({ tested, fitting }) => [tested, fitting]) };
  };
  await storeLedgers(db, new Map([[account, without(5)]]));
  expect(await fits()).toEqual({ isFull: true, fits: [[28, 27]] });
  await storeBills(db, { account, productType: "USDT-FUTURES" }, ledger);
  expect(await fits()).toEqual({ isFull: true, fits: [[29, 29]] });
  expect(await fits()).toEqual({ isFull: false, fits: [[29, 29]] });
});
