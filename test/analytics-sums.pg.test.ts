// Holds: Days are of bills
// Every sum that a view shows is that of the bills, and every liquidation's bill is in one row (random bills,
// summed by the test in integers).

import { sql } from "drizzle-orm";
import { beforeAll, expect, test } from "vitest";
import { type Bill, noPosition } from "../src/core/contract/bill.ts";
import { businessTypes } from "../src/core/contract/business-types.ts";
import { inTransaction } from "../src/core/postgres/connect.ts";
import { upsertBills } from "../src/core/store/store-bills.ts";
import { epochMs, hourMs, isoTime } from "../src/lib/time.ts";
import { snowflake } from "../src/wings/sandbox/entry.ts";
import { integer, pick, type Random, seededRandom } from "../src/wings/sandbox/random.ts";
import { fileDatabase } from "./support/database.ts";
import { exactUnits } from "./support/journal.ts";

const { db } = await fileDatabase();

type Ledger = { readonly account: string; readonly productType: "USDT-FUTURES" | "SUSDT-FUTURES" };
type Drawn = Bill & Ledger;

const sweep = "risk_captital_user_transfer";
const liquidationTypes = ["burst_long_loss_query", "force_sell", sweep, sweep];
const allTypes = [...businessTypes.map(({ code }) => code), "never_heard_of", "nor_of_this"];
const categoryByCode = new Map(businessTypes.map(({ code, category }) => [code, category]));
const categoryOf = ({ businessType }: Bill) => categoryByCode.get(businessType) ?? "unclassified";

const amountOf = (random: Random): string => {
  const part = String(integer(random, 0, 10 ** 6)).padStart(integer(random, 6, 18), "0");
  return `${pick(random, ["", "-"])}${integer(random, 0, 9_999)}.${part}`;
};

/** Bills with independent numbers, many of them within seconds. */
function drawBills(random: Random, ledger: Ledger): Drawn[] {
  let time = Date.UTC(2026, 2, 28);
  return Array.from({ length: 400 }, (_, index) => {
    time += pick(random, [0, 1, 900, 9_999, 10_000, 10_001, hourMs, 9 * hourMs]);
    const isLiquidation = random() < 0.5;
    const maybe = (share: number) => (random() < share ? amountOf(random) : null);
    return {
      ...ledger,
      billId: random() < 0.05 ? `odd-${index}` : snowflake(time, index),
      symbol: pick(random, [null, "BTCUSDT", "ETHUSDT"]),
      ...{ amount: maybe(0.8) ?? "0", fee: maybe(0.7) ?? "0", feeByCoupon: maybe(0.2) },
      businessType: pick(random, isLiquidation ? liquidationTypes : allTypes),
      ...{ coin: pick(random, ["USDT", "BTC"]), balance: maybe(0.8), cTime: epochMs(time) },
      ...noPosition,
      extra: random() < 0.05 ? { more: "1" } : null,
    };
  });
}

const ledgers: readonly Ledger[] = Array.from({ length: 12 }, (_, index) => ({
  account: `a${index % 8}`,
  productType: index < 8 ? "USDT-FUTURES" : "SUSDT-FUTURES",
}));
const bills = ledgers.flatMap((ledger) =>
  drawBills(seededRandom(`${ledger.account}/${ledger.productType}`), ledger),
);

beforeAll(async () => {
  const ofLedger = Map.groupBy(bills, (bill) => JSON.stringify([bill.account, bill.productType]));
  await inTransaction(db, async (tx) => {
    for (const ledger of ledgers) {
      const own = ofLedger.get(JSON.stringify([ledger.account, ledger.productType])) ?? [];
      await upsertBills(tx, [{ ledger, bills: own }]);
    }
  });
});

type Sums = Readonly<Record<string, (bill: Drawn) => string | bigint | undefined>>;

const dayOf = ({ cTime }: Bill) => isoTime(cTime).slice(0, 10);
const monthOf = (bill: Bill) => `${dayOf(bill).slice(0, 7)}-01`;
const isNegative = (decimal: string) => exactUnits(decimal) < 0n;
const ifPaid = (decimal: string) => (isNegative(decimal) ? decimal : undefined);
const ifReceived = (decimal: string) => (isNegative(decimal) ? undefined : decimal);
const amountIn =
  (category: string, only: (decimal: string) => string | undefined = (decimal) => decimal) =>
  (bill: Drawn) =>
    categoryOf(bill) === category ? only(bill.amount) : undefined;
// As long as reconcile has learned nothing, a margin move stays inside the account.
const walletFee = (bill: Drawn) => (categoryOf(bill) === "margin" ? "0" : bill.fee);
const walletNet = (bill: Drawn) =>
  categoryOf(bill) === "margin" ? 0n : exactUnits(bill.amount) + exactUnits(bill.fee);

const rollforward: Sums = {
  realised_pnl: amountIn("trade"),
  fees_paid: (bill) => ifPaid(walletFee(bill)),
  fee_rebates: (bill) => ifReceived(walletFee(bill)),
  funding_received: amountIn("funding", ifReceived),
  funding_paid: amountIn("funding", ifPaid),
  liquidation: amountIn("liquidation"),
  transfers_in: amountIn("transfer", ifReceived),
  transfers_out: amountIn("transfer", ifPaid),
  bonus: amountIn("bonus"),
  copy: amountIn("copy"),
  delivery: amountIn("delivery"),
  margin: () => 0n,
  interest: amountIn("interest"),
  conversion: amountIn("conversion"),
  unclassified: amountIn("unclassified"),
  bills: () => "1",
};

const one = () => "1";
const bySymbol = ["day", "symbol"];

/** The sums of each view's rows. The bills that `of` selects count once each. */
const views: readonly {
  readonly name: string;
  readonly by?: readonly string[];
  readonly of: (bill: Drawn) => boolean;
  /** Sums of columns, or of expressions of columns. */
  readonly sums: Sums;
}[] = [
  {
    name: "entries",
    of: () => true,
    sums: {
      amount: ({ amount }) => amount,
      fee: ({ fee }) => fee,
      "wallet_amount + wallet_fee": walletNet,
      "is_id_odd::int": ({ billId }) => (billId.startsWith("odd") ? "1" : "0"),
    },
  },
  {
    name: "activity",
    by: ["day"],
    of: () => true,
    sums: { amount: ({ amount }) => amount, fee: ({ fee }) => fee, net: walletNet },
  },
  { name: "daily_rollforward", by: ["day"], of: () => true, sums: rollforward },
  { name: "monthly_rollforward", by: ["month"], of: () => true, sums: rollforward },
  {
    name: "by_symbol_day",
    by: bySymbol,
    of: () => true,
    sums: {
      gains: amountIn("trade", ifReceived),
      losses: amountIn("trade", ifPaid),
      realised_pnl: amountIn("trade"),
      fees_charged: ({ fee }) => ifPaid(fee),
      fees_credited: ({ fee }) => ifReceived(fee),
      fee_by_coupon: ({ feeByCoupon }) => feeByCoupon ?? undefined,
      funding_received: amountIn("funding", ifReceived),
      funding_paid: amountIn("funding", ifPaid),
      bills: one,
    },
  },
  {
    name: "liquidations",
    of: (bill) => categoryOf(bill) === "liquidation",
    sums: {
      net: ({ amount, fee }) => exactUnits(amount) + exactUnits(fee),
      "amount + coalesce(swept, 0)": ({ amount }) => amount,
      swept: ({ businessType, amount }) => (businessType === sweep ? amount : undefined),
      "fee + coalesce(sweep_fee, 0)": ({ fee }) => fee,
      "bills + sweeps": one,
      sweeps: ({ businessType }) => (businessType === sweep ? "1" : "0"),
    },
  },
  {
    name: "transfers",
    by: ["direction"],
    of: (bill) => categoryOf(bill) === "transfer",
    sums: { amount: ({ amount }) => amount, "1": one },
  },
  {
    name: "bonuses",
    of: (bill) => categoryOf(bill) === "bonus",
    sums: { amount: ({ amount }) => amount, "1": one },
  },
  {
    name: "data_quality",
    by: ["check_name"],
    of: (bill) => checksOf(bill).length > 0,
    sums: { rows: one },
  },
];

const checksOf = (bill: Drawn): readonly string[] => [
  ...(bill.balance === null ? ["bills-without-balance"] : []),
  ...(categoryOf(bill) === "unclassified" ? ["unclassified-bills"] : []),
  ...(bill.billId.startsWith("odd") ? ["ids-of-another-time"] : []),
  ...(bill.extra === null ? [] : ["undocumented-fields"]),
];

const keys: Readonly<Record<string, (bill: Drawn) => readonly string[]>> = {
  day: (bill) => [dayOf(bill)],
  month: (bill) => [monthOf(bill)],
  symbol: ({ symbol }) => [symbol ?? ""],
  direction: ({ amount }) => [isNegative(amount) ? "out" : "in"],
  check_name: checksOf,
};

/** Sums by group and column, without zeros. */
type Totals = ReadonlyMap<string, bigint>;

function expectedOf({ name, by = [], of, sums }: (typeof views)[number]): Totals {
  const totals = new Map<string, bigint>();
  for (const bill of bills.filter(of)) {
    const groups = by.reduce<readonly string[][]>(
      (lists, key) =>
        lists.flatMap((list) => (keys[key]?.(bill) ?? []).map((value) => [...list, value])),
      [[bill.account, bill.productType, ...(name === "data_quality" ? [] : [bill.coin])]],
    );
    for (const [column, partOf] of Object.entries(sums)) {
      const value = partOf(bill) ?? 0n;
      const added = typeof value === "string" ? exactUnits(value) : value;
      for (const group of groups) {
        const key = [...group, column].join(" | ");
        totals.set(key, (totals.get(key) ?? 0n) + added);
      }
    }
  }
  return new Map([...totals].filter(([, total]) => total !== 0n).sort());
}

async function shownBy({ name, by = [], sums }: (typeof views)[number]): Promise<Totals> {
  const columns = Object.keys(sums);
  const group = ["account", "product_type", ...(name === "data_quality" ? [] : ["coin"]), ...by];
  const { rows } = await db.execute<Record<string, string | null>>(
    sql.raw(`
      select
        ${group.map((key, at) => `${key}::text as key_${at}`).join(", ")},
        ${columns.map((column, at) => `sum(${column})::text as sum_${at}`).join(", ")}
      from analytics.${name}
      group by ${group.join(", ")}`),
  );
  const totals = rows.flatMap((row) =>
    columns.map((column, at) => {
      const key = [...group.map((_, place) => row[`key_${place}`]), column].join(" | ");
      return [key, exactUnits(row[`sum_${at}`] ?? "0")] as const;
    }),
  );
  return new Map(totals.filter(([, total]) => total !== 0n).sort());
}

test.each(views)("the sums of the view $name are those of the bills", async (view) => {
  const expected = expectedOf(view);
  expect(expected.size).toBeGreaterThan(10);
  expect(await shownBy(view)).toEqual(expected);
});

test("what is outstanding of bonuses is all of them so far", async () => {
  const { rows } = await db.execute<{ outstanding: string }>(sql`
    select distinct on (account, product_type, coin) outstanding::text
    from analytics.bonuses
    order by account, product_type, coin, c_time desc, length(bill_id) desc, bill_id desc`);
  const drawn = bills.filter((bill) => categoryOf(bill) === "bonus");
  expect(rows.reduce((sum, { outstanding }) => sum + exactUnits(outstanding), 0n)).toBe(
    drawn.reduce((sum, { amount }) => sum + exactUnits(amount), 0n),
  );
});

test("data_quality counts time that was not read: lost and unread periods, from their first day to their last", async () => {
  const at = (day: number, hour = 0) => isoTime(epochMs(Date.UTC(2026, 0, day, hour)));
  const ranges = (...spans: readonly (readonly [string, string])[]) =>
    `{${spans.map((span) => `[${span.join()})`).join()}}`;
  await db.execute(sql`
    insert into ledgers (account, product_type, covered, recovered, lost, open)
    values
      (
        'periods', 'USDT-FUTURES',
        ${ranges([at(4), at(6, 3)], [at(9), at(10)])},
        ${ranges([at(1), at(4)])},
        ${ranges([at(10), at(12)])},
        ${ranges([at(12), at(14)])}
      ),
      ('periods', 'COIN-FUTURES', ${ranges([at(4), at(6)])}, ${ranges([at(1), at(4)])}, '{}', '{}')`);
  const { rows } = await db.execute(sql`
    select product_type, check_name, rows::int, first_on::text, last_on::text
    from analytics.data_quality
    where account = 'periods'
    order by check_name`);
  // Unread from the 6th to the end of the 8th, and from the 12th to the end of the 13th; lost in between.
  const product_type = "USDT-FUTURES";
  expect(rows).toEqual([
    {
      ...{ product_type, check_name: "lost-time" },
      ...{ rows: 1, first_on: "2026-01-10", last_on: "2026-01-11" },
    },
    {
      ...{ product_type, check_name: "unread-time" },
      ...{ rows: 2, first_on: "2026-01-06", last_on: "2026-01-13" },
    },
  ]);
});

test("every view of the schema is summed here, or adds nothing up", async () => {
  const { rows } = await db.execute<{ name: string }>(sql`
    select relname as name
    from pg_class
    where relnamespace = 'analytics'::regnamespace`);
  const addNothingUp = [
    ...["breaks", "break_history", "time_states", "ltv_history"],
    ...["bill_contracts", "transfers_between_accounts"],
  ];
  expect(rows.map(({ name }) => name).sort()).toEqual(
    [...views.map(({ name }) => name), ...addNothingUp].sort(),
  );
});
