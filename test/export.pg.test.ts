// CSV and Parquet have every column, character for character and unit for unit (csv-parse; hyparquet, which
// shares its authors with the writer).
// The journals' accounts are the table's sums.
// Koinly's rows add up to what the wallets moved, and no page's edge parts a trade.
// A ledger that reconciles has no discrepancy in a journal (six kinds of exchange).

import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "csv-parse/sync";
import { sql } from "drizzle-orm";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { describe, expect, test } from "vitest";
import { formatNames } from "../src/books/export/formats.ts";
import { type BillSelection, readBills } from "../src/books/export/read-bills.ts";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import { businessTypes } from "../src/core/contract/business-types.ts";
import { inSnapshot } from "../src/core/postgres/connect.ts";
import { epochMs, isoTime } from "../src/lib/time.ts";
import { seededRandom } from "../src/wings/sandbox/random.ts";
import { makeLedger } from "./exchange/account-ledger.ts";
import { aBill, bills } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { exported, realBills, selected, storeLedger } from "./support/export.ts";
import { exactUnits, refusalOf, verifiedSums } from "./support/journal.ts";
import { type Habits, smallLedger, storeLedgers } from "./support/small-ledger.ts";
import { ledgerOf, storeBills } from "./support/stored-ledger.ts";

const { db } = await fileDatabase();

const ledger = makeLedger({ seed: "export", now: Date.UTC(2026, 10, 21), density: 0.3 });
await storeLedger(db, "sandbox", ledger);
await storeBills(db, ledgerOf("real"), realBills());
// Content that no exchange was seen to send, but that the tables accept.
await storeBills(db, ledgerOf("odd"), [
  aBill({ billId: "9", symbol: 'a,"b"\nc;d\r\ne', coin: "1INCH", businessType: "=1+1" }),
  aBill({ billId: "10", amount: "12345678901234567890.123456789012345678", balance: null }),
  aBill({
    billId: "100000000000000000000000000001",
    amount: "0.10",
    symbol: null,
    extra: { naïve: "🧾" },
  }),
]);
await reconcile(db, { accounts: undefined, productTypes: undefined }, { isFull: true });
const three = { accounts: ["sandbox", "real", "odd"] };

/** Read by a library that the writer does not use. */
const csvRows = (text: string): Record<string, string>[] =>
  parse(text, { columns: true, record_delimiter: "\r\n" });

/** The text before the export made it harmless for a spreadsheet. */
const unmarked = (row: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(row).map(([name, text]) => [name, text.replace(/^'/, "")]));

/** The columns of bills as Postgres prints them, in the export's order. */
async function printed(): Promise<Record<string, string | null>[]> {
  const { rows } = await db.execute<Record<string, string | null>>(sql`
    select
      account, product_type, bill_id, symbol, amount::text, fee::text, fee_by_coupon::text,
      business_type, coin, balance::text,
      to_char(c_time at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as c_time,
      extra::text,
      position_type, position_amount::text, position_balance::text, source,
      to_char(ingested_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as ingested_at,
      category
    from bills
    join business_types on code = business_type
    where account = any ('{sandbox,real,odd}')
    order by account, product_type, c_time, bill_id::numeric`);
  return rows;
}

test("csv gives back every column letter for letter, in the order of the bills", async () => {
  const text = (await exported(db, "csv", three)).toString("utf8");
  const codes = new Set(csvRows(text).map((row) => row["business_type"]));
  expect(businessTypes.filter(({ code }) => !codes.has(code))).toEqual([]);
  expect(csvRows(text).map(unmarked)).toEqual(
    (await printed()).map((row) =>
      Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ?? ""])),
    ),
  );
  expect(text.split("\r\n")[0]).toMatch(/^account,product_type,bill_id,.*,ingested_at,category$/);
  expect(text.endsWith("\r\n")).toBe(true);
});

test("parquet gives back every column exactly: money as DECIMAL(38, 18), times in UTC milliseconds", async () => {
  const bytes = await exported(db, "parquet", three);
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;
  const metadata = parquetMetadata(file);
  const money = metadata.schema.filter(({ converted_type }) => converted_type === "DECIMAL");
  expect(money.map(({ name, precision, scale }) => [name, precision, scale])).toEqual(
    ["amount", "fee", "fee_by_coupon", "balance", "position_amount", "position_balance"].map(
      (name) => [name, 38, 18],
    ),
  );
  expect(metadata.row_groups[0]?.columns[0]?.meta_data?.codec).toBe("SNAPPY");
  const times = metadata.schema.filter(({ logical_type }) => logical_type?.type === "TIMESTAMP");
  expect(times.map(({ name, logical_type }) => [name, logical_type])).toEqual(
    ["c_time", "ingested_at"].map((name) => [
      name,
      { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MILLIS" },
    ]),
  );
  // The reader turns decimals into floats. Asked for the bytes, it returns nothing.
  for (const element of money) {
    delete element.converted_type;
    delete element.logical_type;
  }
  const read = await parquetReadObjects({ file, metadata });
  const names = money.map(({ name }) => name);
  const exact = (row: Record<string, unknown>, unitsOf: (value: never) => bigint) =>
    Object.fromEntries(
      names.map((name) => [name, row[name] == null ? null : unitsOf(row[name] as never)]),
    );
  const inText = ({ c_time, ingested_at, ...row }: Record<string, unknown>) => ({
    ...row,
    c_time: (c_time as Date).toISOString(),
    ingested_at: (ingested_at as Date).toISOString(),
  });
  expect(read.map((row) => ({ ...inText(row), ...exact(row, bigEndian) }))).toEqual(
    (await printed()).map((row) => ({
      ...row,
      ...exact(row, (text: string) => exactUnits(text) / 10n ** 12n),
    })),
  );
});

/** Sixteen bytes, in two's complement. */
const bigEndian = (bytes: Uint8Array): bigint =>
  BigInt.asIntN(128, BigInt(`0x${Buffer.from(bytes).toString("hex")}`));

test("a number that DECIMAL(38, 18) cannot hold is refused with its bill; csv takes it", async () => {
  for (const amount of ["0.0000000000000000001", "123456789012345678901"]) {
    const account = `wide-${amount}`;
    await storeBills(db, ledgerOf(account), [aBill({ billId: "4711", amount })]);
    await expect(exported(db, "parquet", { accounts: [account] })).rejects.toThrow(
      `bill ${account}/USDT-FUTURES 4711: amount ${amount} does not fit DECIMAL(38, 18)`,
    );
    expect(String(await exported(db, "csv", { accounts: [account] }))).toContain(`,${amount},`);
  }
  await storeBills(db, ledgerOf("zeros"), [aBill({ amount: "1.50000000000000000000000" })]);
  await exported(db, "parquet", { accounts: ["zeros"] });
});

test("koinly's rows sum up to what the wallets moved, coin by coin, each under its label", async () => {
  const rows = csvRows(String(await exported(db, "koinly", three)));
  const sums = new Map<string, bigint>();
  for (const row of rows) {
    expect(row["Date"]).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
    expect(row["Fee Amount"]).toBe("");
    const isSent = row["Sent Amount"] !== "";
    const side = isSent ? "Sent" : "Received";
    const coin = row[`${side} Currency`] ?? "";
    const units = exactUnits(row[`${side} Amount`] ?? "");
    expect(units > 0n).toBe(true);
    sums.set(coin, (sums.get(coin) ?? 0n) + (isSent ? -units : units));
  }
  const { rows: moved } = await db.execute<{ coin: string; moved: string }>(sql`
    select coin, sum(amount + fee)::text as moved
    from bills
    join business_types on code = business_type
    where account = any ('{sandbox,real,odd}')
      and category <> 'margin'
    group by coin`);
  expect(sums).toEqual(new Map(moved.map((row) => [row.coin, exactUnits(row.moved)])));
  expect([...new Set(rows.map((row) => row["Label"]))].toSorted()).toEqual([
    ...["", "cost", "fee refund", "income", "margin fee", "realized gain", "reward"],
  ]);
  expect(new Set(rows.map((row) => row["TxHash"])).size).toBe(rows.length);
});

test("a journal of real bills checks, ends on the last balance, and owns up to the days that their listing leaves out", async () => {
  for (const [tool, own] of [
    ["hledger", "real:USDT-FUTURES"],
    ["beancount", "Real:USDT-FUTURES"],
  ] as const) {
    const text = String(await exported(db, tool, { accounts: ["real"] }));
    expect(refusalOf(tool, text)).toBe("");
    const sums = verifiedSums(tool, text);
    expect(sums.get(`Assets:Exchange:${own}:USDT USDT`)).toBe(exactUnits("1069.68573498"));
    expect(sums.get(`Equity:Exchange:${own}:Opening USDT`)).toBe(-exactUnits("777.88473768"));
    expect(text.match(/discrepancy/g)).toHaveLength(2);
    expect(text.match(/category:? ?"?rounding/g)).toHaveLength(15);
  }
});

test("a ledger that reconciles is a journal without a discrepancy, by the rules that were learned", async () => {
  const habits: Readonly<Record<string, Habits>> = {
    plain: {},
    "margin-moves": { marginMoves: true },
    "coupons-move": { couponMoves: true },
    rounds: { rounds: true },
    "silent-and-rounds": { rounds: true, missingPercent: 30 },
    crowded: { largestCluster: 60 },
  };
  const accounts = Object.keys(habits);
  const ledgers = Object.entries(habits).map(
    ([name, habit]) => [name, smallLedger(seededRandom(`export ${name}`), habit)] as const,
  );
  await storeLedgers(db, new Map(ledgers));
  const scope = { accounts, productTypes: undefined };
  expect((await reconcile(db, scope, { isFull: true })).breaks).toEqual([]);
  for (const [account, tool] of accounts.flatMap((name) => [
    [name, "hledger"] as const,
    [name, "beancount"] as const,
  ])) {
    const text = String(await exported(db, tool, { accounts: [account] }));
    expect([account, text.match(/discrepancy.*/g)]).toEqual([account, null]);
    expect(refusalOf(tool, text)).toBe("");
    const [wallet] = [...verifiedSums(tool, text)].filter(([name]) => name.startsWith("Assets:"));
    const { rows } = await db.execute<{ balance: string }>(sql`
      select running_balance::text as balance
      from analytics.activity
      where account = ${account}
      order by place desc
      limit 1`);
    expect([account, wallet?.[1]]).toEqual([account, exactUnits(rows[0]?.balance ?? "")]);
  }
});

describe("what is selected", () => {
  test("is of a time to the millisecond, of accounts of any characters, in the order of ids as numbers, in every year", async () => {
    const found = async (selection: BillSelection) => await selected(db, selection);
    await storeBills(db, ledgerOf("times"), bills(5));
    const at = (ms: number) => epochMs(1_700_000_000_000 + ms);
    const inside = await found({ accounts: ["times"], from: at(1), to: at(4) });
    expect(inside.map(({ cTime }) => cTime)).toEqual([at(1), at(2), at(3)]);
    const account = `it's "{1,2}" \\`;
    for (const productType of ["USDT-FUTURES", "COIN-FUTURES"] as const)
      await storeBills(db, ledgerOf(account, productType), [aBill()]);
    const odd = await found({ accounts: [account], productTypes: ["COIN-FUTURES"] });
    expect(odd.map((bill) => [bill.account, bill.productType])).toEqual([
      [account, "COIN-FUTURES"],
    ]);
    const ids = ["9", "10", "9999999999999999999", "10000000000000000000"];
    const unsorted = ids.toSorted().map((billId) => aBill({ billId }));
    await storeBills(db, ledgerOf("ids"), unsorted);
    expect((await found({ accounts: ["ids"] })).map(({ billId }) => billId)).toEqual(ids);
    const times = ["1970-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"];
    const old = times.map((time, id) =>
      aBill({ billId: `${id}`, cTime: epochMs(Date.parse(time)) }),
    );
    await storeBills(db, ledgerOf("years"), old);
    expect((await found({ accounts: ["years"] })).map(({ cTime }) => isoTime(cTime))).toEqual(
      times,
    );
  });

  test("is what was stored at one moment, in a snapshot that cannot write: what is stored meanwhile is left out", async () => {
    await storeBills(db, ledgerOf("meanwhile"), bills(6_000));
    const seen = await inSnapshot(db, async (tx) => {
      let count = 0;
      for await (const page of readBills(tx, { accounts: ["meanwhile"] })) {
        count += page.length;
        await storeBills(db, ledgerOf("meanwhile"), [
          aBill({ billId: `1${count}`, cTime: epochMs(1_800_000_000_000) }),
        ]);
      }
      return count;
    });
    expect(seen).toBe(6_000);
    const write = inSnapshot(db, (tx) => tx.execute(sql`delete from bills`));
    await expect(write).rejects.toMatchObject({ cause: { code: "25006" } });
  });

  test("is, with --changed-since, what is new or was restated", async () => {
    const account = "increments";
    await storeBills(db, ledgerOf(account), bills(50));
    await sleep(20);
    const { rows } = await db.execute<{ ms: string }>(
      sql`select extract(epoch from clock_timestamp()) * 1000 as ms`,
    );
    await sleep(20);
    const [first, second] = bills(2);
    if (first === undefined || second === undefined) throw new Error();
    const later = aBill({ billId: "2000000", cTime: epochMs(1_600_000_000_000) });
    await storeBills(db, ledgerOf(account), [first, { ...second, amount: "99" }, later]);
    const changedSince = epochMs(Math.floor(Number(rows[0]?.ms)));
    const found = await selected(db, { accounts: [account], changedSince });
    expect(found.map(({ billId, amount }) => [billId, amount])).toEqual([
      ["2000000", later.amount],
      [second.billId, "99"],
    ]);
  });

  test("is the same whichever run wrote it, in every format, byte for byte", async () => {
    const two = { accounts: ["sandbox", "real"] };
    for (const format of formatNames) {
      const [first, second] = [await exported(db, format, two), await exported(db, format, two)];
      expect(first.equals(second)).toBe(true);
    }
  });
});
