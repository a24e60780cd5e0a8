// Six monthly journals are the journal of the half-year, by months of any zone (hledger and bean-check on the
// files put together).

import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import type { Bill } from "../src/contract/bill.ts";
import { epochMs, hourMs, isoTime } from "../src/contract/time.ts";
import { add, decimalOf, decimalText } from "../src/export/decimal.ts";
import { snowflake } from "../src/sandbox/entry.ts";
import { aBill, billAt } from "./support/bills.ts";
import { temporaryFolder } from "./support/cli.ts";
import { fileDatabase } from "./support/database.ts";
import { exportedByCommand, ledgerOf, storeBills } from "./support/export.ts";
import { exactUnits, hledgerPrints, refusalOf, verifiedSums } from "./support/journal.ts";
import { storeTime } from "./support/stored-time.ts";

const { database, tables } = await fileDatabase();
const { db } = tables;
const env = { DATABASE_URL: database.url };
const early = Date.UTC(2025, 10, 22);
const end = Date.UTC(2026, 8, 2);

/**
 * Bills of one coin, three a day, that start at a balance. Some show no balance, and one of May is lost.
 */
function bills(coin: string, opening: string, since: number): readonly Bill[] {
  const kinds = ["close_long", "contract_settle_fee", "trans_from_exchange", "append_margin"];
  let balance = decimalOf(opening);
  const all: Bill[] = [];
  for (let at = since, index = 0; at < end; at += 8 * hourMs, index++) {
    const businessType = kinds[index % 7] ?? "close_short";
    const amount = `${((index * 37) % 101) - 50}.25`;
    const fee = businessType.startsWith("close") ? "-0.0125" : "0";
    if (businessType !== "append_margin") {
      balance = add(balance, add(decimalOf(amount), decimalOf(fee)));
    }
    all.push(
      aBill({
        billId: snowflake(at, index % 4_000),
        cTime: epochMs(at + (index % 5) * 60_000),
        coin,
        businessType,
        amount,
        fee,
        balance: index % 11 === 3 ? null : decimalText(balance),
      }),
    );
  }
  return all.filter(({ cTime }) => cTime < Date.UTC(2026, 4, 9) || cTime > Date.UTC(2026, 4, 9, 5));
}

await storeBills(db, ledgerOf("main"), [
  ...bills("USDT", "100000", early),
  // A wallet whose next bill comes in August.
  aBill({
    billId: "5",
    coin: "USDC",
    cTime: epochMs(early),
    balance: "777",
    amount: "7",
    fee: "0",
  }),
  billAt(Date.UTC(2026, 7, 3), 4_090, { coin: "USDC", balance: "778", amount: "1", fee: "0" }),
]);
await storeBills(db, ledgerOf("main", "COIN-FUTURES"), bills("BTC", "0", Date.UTC(2026, 5, 17)));
for (const productType of ["USDT-FUTURES", "COIN-FUTURES"]) {
  const span = { from: isoTime(epochMs(early)), to: isoTime(epochMs(end)) };
  await storeTime(db, { account: "main", productType }, { covered: [span] });
}
await reconcile(db, { accounts: undefined, productTypes: undefined }, { isFull: true });
await db.execute(sql`analyze`);

// Both zones change their clocks in March, a bill of May is lost, and wallets begin in June and August.
const months = ["2026-03", "2026-04", "2026-05", "2026-06", "2026-07", "2026-08"];

describe.each([
  ["hledger", "Europe/Berlin"],
  ["beancount", "America/New_York"],
] as const)("six files of %s, by months of %s", (format, timeZone) => {
  const written = async (words: object) => {
    const { out, err } = await exportedByCommand(env, { format, timeZone, ...words });
    // The ledger has one balance that no bill explains, and nothing else.
    expect(err).not.toMatch(/warning(?!: main\/USDT-FUTURES\/USDT does not add up)/);
    return out;
  };

  test("make one journal that checks, with the balances of one file of the half-year", async () => {
    const whole = await written({ from: "2026-03-01", to: "2026-09-01" });
    const files: string[] = [];
    for (const month of months) {
      files.push(
        await written({ month, ...(files.length === 0 ? {} : { continue: "2026-03-01" }) }),
      );
    }
    const together = files.join("\n");
    expect(refusalOf(format, whole)).toBe("");
    expect(refusalOf(format, together)).toBe("");
    const sums = verifiedSums(format, together);
    expect(sums).toEqual(verifiedSums(format, whole));
    const name = format === "hledger" ? "main" : "Main";
    expect(sums.get(`Assets:Exchange:${name}:USDT-FUTURES:USDC USDC`)).toBe(exactUnits("778"));
    // Every wallet is opened once. The wallet of August is opened with the balance before that bill; BTC
    // began at 0.
    expect(together.match(/category:? ?"?opening/g)).toHaveLength(2);
    expect(together.match(/category:? ?"?discrepancy/g)).toHaveLength(1);
    const directives = together.match(/^(?:\S+ open |account |(?:\S+ )?commodity ).*$/gm) ?? [];
    expect(new Set(directives).size).toBe(directives.length);
    // Each transaction is only in the file of its month.
    for (const [index, file] of files.entries()) {
      const days = [...file.matchAll(/^(\d{4}-\d\d)-\d\d \* /gm)].map(([, month]) => month);
      expect(new Set(days)).toEqual(new Set([months[index]]));
    }
  });
});

test("--continue without a time continues files that began with the first bill", async () => {
  const first = (await exportedByCommand(env, { format: "hledger", to: "2026-02-01" })).out;
  const rest = { format: "hledger", from: "2026-02-01", continue: true } as const;
  const second = (await exportedByCommand(env, rest)).out;
  const whole = (await exportedByCommand(env, { format: "hledger" })).out;
  expect(verifiedSums("hledger", first + second)).toEqual(verifiedSums("hledger", whole));
  expect(refusalOf("hledger", first + second)).toBe("");
});

test("the page's price file and commands value a journal in euros", async () => {
  const page = readFileSync(new URL("../docs/accounting.md", import.meta.url), "utf8");
  const [, text = ""] = page.match(/```csv\n(date,coin[^`]*2026-02-28[^`]*)```/) ?? [];
  const commands = [...page.matchAll(/^hledger (-f 2026-02\.journal .*)$/gm)].map(
    ([, words = ""]) => words.split(" "),
  );
  expect(commands).toHaveLength(2);
  await using folder = await temporaryFolder();
  const prices = join(folder.path, "prices.csv");
  await writeFile(prices, text);
  const february = { month: "2026-02", product: ["USDT-FUTURES"], prices };
  const { out } = await exportedByCommand(env, { format: "hledger", ...february });
  const wallet = "Assets:Exchange:main:USDT-FUTURES:USDT";
  const printed = commands.map((args) => hledgerPrints({ "2026-02.journal": out }, args));
  const units = verifiedSums("hledger", out).get(`${wallet} USDT`) ?? 0n;
  const euros = Number((units * 91n) / 10n ** 28n) / 10_000;
  for (const text of printed) {
    // The run said so where hledger is not installed.
    if (text !== undefined) expect(text).toContain(" EUR");
  }
  const shown = /(-?[\d.]+) EUR {2}Assets:Exchange:main:USDT-FUTURES:USDT$/m.exec(printed[0] ?? "");
  if (printed[0] !== undefined) expect(Number(shown?.[1])).toBeCloseTo(euros, 2);
});
