import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { accountBills } from "../src/core/contract/account-bills.ts";
import type { Bill } from "../src/core/contract/bill.ts";
import { inTransaction } from "../src/core/postgres/connect.ts";
import { upsertBills } from "../src/core/store/store-bills.ts";
import { dayMs, epochMs, hourMs, minuteMs } from "../src/lib/time.ts";
import { writeAccounts } from "./support/accounts-file.ts";
import { billAt } from "./support/bills.ts";
import { runCli, temporaryFolder } from "./support/cli.ts";
import { openTestDatabase } from "./support/database.ts";
import { aMirrorKey, openMirror } from "./support/mirror.ts";
import { check, logRun } from "./support/page-states.ts";
import { coverLedger, storeTime } from "./support/stored-ledger.ts";

// What outputs say of databases that commands made; findings.pg.test.ts holds all of them to every state.

const now = Date.now();
const ago = (ms: number) => epochMs(now - ms);
const productType = "USDT-FUTURES";
/** Longer than the exchange keeps bills. */
const allMs = 91 * dayMs;

/** A bill an hour, each of 10, which add up. The last is an hour old. */
const hourly: readonly Bill[] = Array.from({ length: 12 }, (_, index) =>
  billAt(ago((12 - index) * hourMs), 0, {
    ...{ amount: "10", fee: "0", balance: String(1_000 + index * 10) },
  }),
);

/** A database, the accounts of its configuration, and what each output says of it. */
async function house() {
  const stack = new AsyncDisposableStack();
  const tables = stack.use(await openTestDatabase());
  const folder = stack.use(await temporaryFolder());
  const { db } = tables;
  const keys = { apiKey: "k", apiSecret: "s", apiPassphrase: "p" };
  const env = {
    DATABASE_URL: tables.url,
    PRODUCT_TYPES: productType,
    ACCOUNTS_FILE: await writeAccounts(folder.path, [{ ...keys, name: "main" }]),
  };
  const run = (...args: readonly string[]) => runCli(args, { env });
  await logRun(db, { agoMs: 12 * minuteMs });
  return {
    ...{ db, run },
    /** Stores bills of one ledger, and that some of its time was read. */
    store: (account: string, bills: readonly Bill[], fromMs: number, toMs: number) =>
      inTransaction(db, async (tx) => {
        const ledger = { account, productType } as const;
        await upsertBills(tx, [{ ledger, bills }]);
        await coverLedger(tx, ledger, ago(fromMs), ago(toMs));
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
    /** What the mirror answers a client who asks for one span. */
    served: async (fromMs: number, toMs: number) => {
      const key = aMirrorKey("main");
      await using mirror = openMirror(tables.url, { keys: [key], now: () => now });
      const span = { startTime: String(ago(fromMs)), endTime: String(ago(toMs)) };
      // Awaited here: the mirror closes with this scope, and a closed one answers 503.
      return await mirror.ask(key, accountBills.path, { productType, ...span });
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

test("a ledger that the configuration no longer names is to be retired, and an account that may be it under a new name is shown to doctor first", async () => {
  await using at = await house();
  await at.store("former", hourly, allMs, 5 * hourMs);
  const remedies = async () =>
    JSON.parse((await at.run("status", "--json")).stdout).findings.flatMap(
      ({ kind, remedy }: Record<string, string>) => (kind === "unchecked" ? [] : [[kind, remedy]]),
    );
  const isBehind = ["behind", "bill-sync accounts retire former"];
  // A sync would be refused.
  expect(await remedies()).toEqual([["never-read", "bill-sync doctor"], isBehind]);
  await at.store("main", hourly, allMs, 5 * hourMs);
  expect(await remedies()).toEqual([isBehind, ["behind", "bill-sync sync"]]);
  expect(await at.run("accounts", "retire", "former")).toMatchObject({ code: 0 });
  expect(await remedies()).toEqual([["behind", "bill-sync sync"]]);
});

test("lost time is accepted as it is, and no more than that", async () => {
  await using at = await house();
  await at.store("main", hourly, allMs, 0);
  const daysAgo = (days: number) => ago(days * dayMs);
  const lose = (fromDays: number) =>
    storeTime(
      at.db,
      { account: "main", productType },
      { lost: [{ from: daysAgo(fromDays), to: daysAgo(91) }] },
    );
  await lose(100);
  expect(await at.reconcile()).toEqual(["lost"]);
  expect(await at.served(99 * dayMs, 98 * dayMs)).toMatchObject({ status: 400 });
  const { breaks } = JSON.parse((await at.run("breaks", "list", "--json")).stdout);
  expect(breaks).toMatchObject([{ kind: "lost", difference: String(9 * dayMs) }]);
  const accepted = await at.run("breaks", "accept", `${breaks[0].breakId}`, "--note", "before us");
  expect(accepted).toMatchObject({ code: 0 });
  expect(await at.reconcile()).toEqual([]);
  expect(await at.served(99 * dayMs, 98 * dayMs)).toMatchObject({ status: 200 });
  await lose(102);
  expect(await at.reconcile()).toEqual(["lost"]);
});
