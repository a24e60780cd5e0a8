import { Client } from "pg";
import { noPosition } from "../src/contract/bill.ts";
import { epochMs } from "../src/contract/time.ts";
import { type Database, inTransaction, openDatabase } from "../src/db/connect.ts";
import { markDaysOf } from "../src/db/days/mark-days.ts";
import { refreshAllDays } from "../src/db/days/refresh-days.ts";
import { upsertBills } from "../src/db/ledger/upsert-bills.ts";
import { snowflake } from "../src/sandbox/snowflake.ts";
import { type Databases, openDatabases } from "./backfill/databases.ts";
import { type Bench, median } from "./result.ts";
import { chainedLedger } from "./support/chained-ledger.ts";

/*
 * How long it takes to read the views over stored days: all rows of four ledgers, those of one, and
 * what a BI tool asks for; how that grows with the years; and what storing days costs those who write.
 * Each time also as so many look-ups of one bill by its key, which does not depend on the machine.
 */

const oneLedger = "where account = 'main' and product_type = 'chain-1'";
const goalOneMs = 50;
const goalAllMs = 100;
const goalGrowth = 1.5;
const goalWrite = 0.03;

const views = [
  "activity",
  "daily_rollforward",
  "monthly_rollforward",
  "month_end_balances",
  "fees_by_symbol_day",
  "realised_pnl_by_symbol_day",
  "funding_by_symbol_day",
  "liquidations",
  "data_quality",
];
// They put every bill of a ledger in its place, whatever is stored of days.
const ofAllBills = ["activity", "liquidations"];

type Row = readonly [what: string, ms: number, goalMs: number | undefined];

/** A database with bills and their days, and how long its statements take. */
class Subject implements AsyncDisposable {
  readonly url: string;
  readonly #client: Client;
  readonly #rounds: number;

  private constructor(url: string, client: Client, rounds: number) {
    this.url = url;
    this.#client = client;
    this.#rounds = rounds;
  }

  static async open(databases: Databases, bills: number, rounds: number): Promise<Subject> {
    const url = await databases.fresh();
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(chainedLedger(bills));
    await client.query("vacuum analyze bills");
    await client.query(markAll);
    return new Subject(url, client, rounds);
  }

  async run(statement: string): Promise<void> {
    await this.#client.query(statement);
  }

  /** All columns are made, and no row is sent. */
  async msOf(query: string, rounds = this.#rounds): Promise<number> {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const startedAt = performance.now();
      await this.#client.query(`select count(v::text) from (${query}) as v`);
      times.push(performance.now() - startedAt);
    }
    return median(times);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end();
  }
}

const markAll = `
  insert into dirty_days
  select distinct account, product_type, (c_time at time zone 'UTC')::date, 'bills'
  from bills
  on conflict do nothing`;

async function store(db: Database): Promise<number> {
  const startedAt = performance.now();
  await refreshAllDays(db, new AbortController().signal);
  return performance.now() - startedAt;
}

export const run: Bench = async ({ short }) => {
  const bills = short ? 10_000 : 1_000_000;
  await using databases = await openDatabases();
  await using subject = await Subject.open(databases, bills, short ? 1 : 7);
  await using database = openDatabase(subject.url);
  const buildMs = await store(database.db);
  await subject.run("vacuum analyze");
  const lookUp = await subject.msOf(
    "select * from bills where account = 'main' and product_type = 'chain-1' and bill_id = (select max(bill_id) from bills where account = 'main' and product_type = 'chain-1')",
    101,
  );
  const rows = [...(await readViews(subject)), ...(await readMarked(subject, database.db))];
  const growth = await growthOf(databases, short);
  const bi = await askAsTools(databases, short);
  const write = await writeCost(database.db, short ? 5 : 200);
  const line = ([what, ms, goal]: Row) => [
    what,
    ms.toFixed(1),
    (ms / lookUp).toFixed(0),
    goal === undefined ? "-" : `${goal}`,
    goal === undefined || ms < goal ? "" : "MISSED",
  ];
  return {
    name: "views",
    title: `milliseconds to read the views over ${bills.toLocaleString("en")} bills (${databases.version})`,
    rows: [
      ["", "ms", "look-ups", "goal ms", ""],
      ...[["a bill by its key", lookUp, undefined] as const, ...rows, ...bi].map(line),
    ],
    notes: [
      `growth of a ledger's last month from one year to five: ${growth.toFixed(2)} (goal ${goalGrowth})`,
      `marking days: ${(100 * write).toFixed(1)} % of storing a page (goal ${100 * goalWrite} %)`,
      `storing days: ${((1_000 * buildMs) / bills).toFixed(1)} µs a bill, ${(buildMs / 1_000).toFixed(1)} s for all`,
    ],
    json: { bills, lookUp, rows, bi, growth, write, buildMs },
  };
};

async function readViews(subject: Subject): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const view of views) {
    const isWhole = ofAllBills.includes(view);
    const select = `select * from analytics.${view}`;
    const rounds = isWhole ? 1 : undefined;
    rows.push([
      `${view}, four ledgers`,
      await subject.msOf(select, rounds),
      isWhole ? undefined : goalAllMs,
    ]);
    const one = await subject.msOf(`${select} ${oneLedger}`, rounds);
    rows.push([`${view}, one of them`, one, isWhole ? undefined : goalOneMs]);
  }
  const day =
    "select * from analytics.activity where account = 'main' and product_type = 'chain-1' and day";
  rows.push(["activity, one day of one", await subject.msOf(`${day} = '2025-01-02'`), goalOneMs]);
  const month = `${day} between '2025-01-02' and '2025-01-31'`;
  rows.push(["activity, thirty days of one", await subject.msOf(month), undefined]);
  return rows;
}

/** Days that are marked are computed: here the last thirty of one ledger. */
async function readMarked(subject: Subject, db: Database): Promise<readonly Row[]> {
  await subject.run(`
    insert into dirty_days
    select account, wallet, day, 'bills'
    from ledger_days
    where account = 'main'
      and wallet = 'chain-1'
    order by day desc
    limit 30`);
  const select = `select * from analytics.daily_rollforward ${oneLedger}`;
  const ms = await subject.msOf(select);
  await store(db);
  return [["daily_rollforward, one with thirty days marked", ms, undefined]];
}

// Of chainedLedger, whose bills are 25 seconds apart in turns.
const billsAYear = Math.round((365.25 * 86_400) / 25);

/** How much longer the newest month of one ledger takes to read with five years than with one. */
async function growthOf(databases: Databases, short: boolean): Promise<number> {
  const times: number[] = [];
  for (const years of [1, 5]) {
    // As many days as years have, with fewer bills a day: only days are read.
    const bills = Math.round((years * billsAYear) / (short ? 100 : 10));
    const url = await databases.fresh();
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      const step = short ? 2_500 : 250;
      await client.query(chainedLedger(bills).replace("25 seconds", `${step} seconds`));
      await client.query("vacuum analyze bills");
      await client.query(markAll);
      await using database = openDatabase(url);
      await store(database.db);
      await client.query("vacuum analyze");
      const query = `
        select count(v::text)
        from analytics.daily_rollforward as v
        ${oneLedger}
          and day > (select max(day) - 30 from ledger_days)`;
      const rounds: number[] = [];
      for (let round = 0; round < (short ? 3 : 21); round++) {
        const startedAt = performance.now();
        await client.query(query);
        rounds.push(performance.now() - startedAt);
      }
      times.push(median(rounds));
    } finally {
      await client.end();
    }
  }
  const [one = Number.NaN, five = Number.NaN] = times;
  return five / one;
}

/** What BI tools ask for, over five times as many bills. */
async function askAsTools(databases: Databases, short: boolean): Promise<readonly Row[]> {
  await using subject = await Subject.open(databases, short ? 50_000 : 5_000_000, short ? 1 : 7);
  await using database = openDatabase(subject.url);
  await store(database.db);
  await subject.run("vacuum analyze");
  const questions = {
    "a month of one account by category": `
      select * from analytics.monthly_rollforward where account = 'main' and month = '2025-02-01'`,
    "a year of one ledger by month": `
      select * from analytics.monthly_rollforward ${oneLedger} and month >= '2025-01-01' and month < '2026-01-01'`,
    "the newest hundred bills of one ledger": `
      select * from analytics.entries ${oneLedger} order by c_time desc limit 100`,
  };
  const rows: Row[] = [];
  for (const [what, query] of Object.entries(questions)) {
    rows.push([`${what}, five times the bills`, await subject.msOf(query), goalOneMs]);
  }
  return rows;
}

/** Which part of storing sixteen new pages the marks of their days are. */
async function writeCost(db: Database, rounds: number): Promise<number> {
  const stream = { account: "written", productType: "USDT-FUTURES" } as const;
  const shares: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const pages = Array.from({ length: 16 }, (_, page) => ({
      stream,
      bills: Array.from({ length: 100 }, (_, index) => {
        const cTime = epochMs(Date.UTC(2026, 0, 1) + (round * 16 + page) * 100_000 + index * 1_000);
        return {
          billId: snowflake(cTime, index),
          symbol: "BTCUSDT",
          amount: "1.5",
          fee: "-0.0123",
          feeByCoupon: null,
          businessType: "close_long",
          coin: "USDT",
          balance: "100",
          cTime,
          ...noPosition,
          extra: null,
        };
      }),
    }));
    await inTransaction(db, async (tx) => {
      const startedAt = performance.now();
      await upsertBills(tx, pages);
      const storedAt = performance.now();
      await markDaysOf(
        tx,
        pages.flatMap(({ bills }) => bills.map((bill) => ({ stream, bill }))),
      );
      shares.push((performance.now() - storedAt) / (storedAt - startedAt));
    });
  }
  return median(shares);
}
