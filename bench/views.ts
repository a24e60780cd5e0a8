import { type Databases, openDatabases } from "./backfill/databases.ts";
import type { Bench } from "./result.ts";
import { DaySubject, type Taken } from "./support/day-subject.ts";

/*
 * How long the views over stored days take: all rows of four ledgers, those of one, and typical
 * queries of a BI tool; how that grows with the years. Each time comes with the server's CPU, and its ratio to a look-up of one bill by its
 * key. These two show the cost even if others use the machine.
 */

const oneLedger = "where account = 'main' and product_type = 'chain-1'";
const aBill = `
  select *
  from bills
  ${oneLedger}
    and bill_id = (
      select max(bill_id)
      from bills
      ${oneLedger}
    )`;
const goalOneMs = 50;
const goalAllMs = 100;
const goalGrowth = 1.5;

const views = [
  "activity",
  "daily_rollforward",
  "monthly_rollforward",
  "by_symbol_day",
  "liquidations",
  "bonuses",
  "transfers",
  "data_quality",
];

type Row = Taken & { readonly what: string; readonly goalMs?: number };

export const run: Bench = async ({ short }) => {
  const bills = short ? 10_000 : 1_000_000;
  const rounds = short ? 1 : 9;
  await using databases = await openDatabases();
  await using subject = await DaySubject.open(databases, bills);
  const lookUp = await subject.timeOf(aBill, 101);
  const rows: readonly Row[] = [
    { what: "a bill by its key", ...lookUp },
    ...(await readViews(subject, rounds)),
    ...(await readDays(subject, rounds)),
    ...(await askAsTools(databases, short, rounds)),
  ];
  const growth = await growthOf(databases, short);
  const { storedIn } = subject;
  const line = ({ what, ms, cpuMs, goalMs }: Row) => [
    what,
    ms.toFixed(1),
    cpuMs.toFixed(1),
    (cpuMs / lookUp.cpuMs).toFixed(0),
    goalMs === undefined ? "-" : `${goalMs}`,
    goalMs === undefined || cpuMs < goalMs ? "" : "MISSED",
  ];
  return {
    name: "views",
    title: `milliseconds to read the views over ${bills.toLocaleString("en")} bills (${databases.version})`,
    rows: [["", "ms", "CPU ms", "look-ups", "goal ms", ""], ...rows.map(line)],
    notes: [
      "goals are held against the CPU: on an idle machine it is nearly all of the time",
      `CPU of a ledger's last month, with five years of days by with one: ${growth.toFixed(2)} (goal ${goalGrowth})`,
      `adding all days up: ${(storedIn.ms / 1_000).toFixed(1)} s, of the server's CPU ${((1_000 * storedIn.cpuMs) / bills).toFixed(1)} µs a bill`,
    ],
    json: { bills, rows, growth, storedIn },
  };
};

async function readViews(subject: DaySubject, rounds: number): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const view of views) {
    // It orders every bill of a ledger, whatever days are stored.
    const isWhole = view === "activity";
    const times = isWhole ? 1 : rounds;
    const select = `select * from analytics.${view}`;
    const all = await subject.timeOf(select, times);
    rows.push({ what: `${view}, four ledgers`, ...all, ...(!isWhole && { goalMs: goalAllMs }) });
    const one = await subject.timeOf(`${select} ${oneLedger}`, times);
    rows.push({ what: `${view}, one of them`, ...one, ...(!isWhole && { goalMs: goalOneMs }) });
  }
  return rows;
}

async function readDays(subject: DaySubject, rounds: number): Promise<readonly Row[]> {
  const day = `select * from analytics.activity ${oneLedger} and day`;
  const one = await subject.timeOf(`${day} = '2025-01-02'`, rounds);
  const thirty = await subject.timeOf(`${day} between '2025-01-02' and '2025-01-31'`, rounds);
  return [
    { what: "activity, one day of one", ...one, goalMs: goalOneMs },
    { what: "activity, thirty days of one", ...thirty },
  ];
}

/** How much longer the newest month of one ledger takes with five years than with one. */
async function growthOf(databases: Databases, short: boolean): Promise<number> {
  // As many days as so many years have, with fewer bills a day: only days are read.
  const everySeconds = short ? 2_500 : 250;
  const query = `
    select *
    from analytics.daily_rollforward
    ${oneLedger}
      and day > (select max(day) - 30 from type_days)`;
  const times: number[] = [];
  for (const years of [1, 5]) {
    const bills = Math.round((years * 365.25 * 86_400) / everySeconds);
    await using subject = await DaySubject.open(databases, bills, everySeconds);
    times.push((await subject.timeOf(query, short ? 3 : 41)).cpuMs);
  }
  const [one = Number.NaN, five = Number.NaN] = times;
  return five / one;
}

/** Typical queries of BI tools, with five times as many bills. */
async function askAsTools(
  databases: Databases,
  short: boolean,
  rounds: number,
): Promise<readonly Row[]> {
  await using subject = await DaySubject.open(databases, short ? 50_000 : 5_000_000);
  const questions = {
    "a month of one account by category": `
      select *
      from analytics.monthly_rollforward
      where account = 'main'
        and month = '2025-02-01'`,
    "a year of one ledger by month": `
      select *
      from analytics.monthly_rollforward
      ${oneLedger}
        and month >= '2025-01-01'
        and month < '2026-01-01'`,
    "the newest hundred bills of one ledger": `
      select *
      from analytics.entries
      ${oneLedger}
      order by c_time desc
      limit 100`,
  };
  const rows: Row[] = [];
  for (const [what, query] of Object.entries(questions)) {
    const taken = await subject.timeOf(query, rounds);
    rows.push({ what: `${what}, five times the bills`, ...taken, goalMs: goalOneMs });
  }
  return rows;
}
