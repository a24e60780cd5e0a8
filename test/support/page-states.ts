import { randomUUID } from "node:crypto";
import { sql } from "drizzle-orm";
import { reconcile } from "../../src/check/reconcile/reconcile.ts";
import { decideOnBreaks } from "../../src/check/reconcile/record-breaks.ts";
import type { ProductType } from "../../src/core/contract/product-types.ts";
import type { Database } from "../../src/core/postgres/connect.ts";
import { dayMs, epochMs, hourMs, isoTime, minuteMs } from "../../src/lib/time.ts";
import { makeLedger } from "../exchange/account-ledger.ts";
import { servedBills, storeBills, storeTime } from "./stored-ledger.ts";

// Databases in every state that the page shows, with one ledger of three products and a demo one.

const everything = { accounts: undefined, productTypes: undefined };
const products = ["USDT-FUTURES", "COIN-FUTURES", "USDC-FUTURES", "SUSDT-FUTURES"] as const;

type Span = readonly [from: number, to: number];

/** Which time of a product was read, and which was lost, in days before now. */
type Known = { readonly read: readonly Span[]; readonly lost?: readonly Span[] };

const allRead: Known = { read: [[90, 0.01]] };

type LedgerShape = {
  readonly account?: string;
  readonly known?: Partial<Record<ProductType, Known>>;
  readonly density?: number;
  readonly seed?: string;
  /** The age of the newest reading, in ms. Default 14 minutes. */
  readonly agoMs?: number;
};

/** Stores an account as syncs would have stored it. */
export async function storeAccount(
  db: Database,
  { account = "main", known = {}, density = 0.25, seed = "page", agoMs = 0 }: LedgerShape = {},
): Promise<void> {
  const now = Date.now() - agoMs;
  const days = Math.max(100, ...Object.values(known).flatMap(({ read }) => read.flat())) + 1;
  const ledger = makeLedger({
    ...{ seed, now, productTypes: products, density, days, isClassified: true },
    futureDays: 0,
  });
  for (const productType of products) {
    const { read, lost = [] } = known[productType] ?? allRead;
    const timeOf = (daysAgo: number) => now - daysAgo * dayMs;
    const isRead = (time: number) =>
      read.some(([from, to]) => time >= timeOf(from) && time < timeOf(to));
    await storeBills(
      db,
      { account, productType },
      servedBills(
        ledger,
        productType,
        ({ cTime, broken }) => broken === undefined && isRead(cTime),
      ),
    );
    const spanOf = ([from, to]: Span) => ({
      from: epochMs(Math.floor(timeOf(from))),
      to: epochMs(Math.floor(timeOf(to))),
    });
    const times = { covered: read.map(spanOf), lost: lost.map(spanOf) };
    await storeTime(db, { account, productType }, times);
    const at = isoTime(epochMs(Math.floor(now)));
    await db.execute(sql`
      update ledgers
      set
        planned_at = ${at},
        planned_clock = ${at}
      where account = ${account}
        and product_type = ${productType}`);
  }
  // As a run does that stored much: without statistics a page takes seconds.
  await db.execute(sql`analyze bills`);
  await logRun(db, { agoMs: agoMs + 12 * minuteMs });
}

type RunShape = {
  readonly command?: string;
  readonly agoMs: number;
  readonly tookMs?: number;
  readonly outcome?: string;
  readonly error?: string;
  readonly counts?: object;
};

/** A row of the run log. */
export async function logRun(
  db: Database,
  { command = "sync", agoMs, tookMs = 2_100, outcome = "complete", error, counts }: RunShape,
): Promise<string> {
  const runId = randomUUID();
  await db.execute(sql`
    insert into runs (run_id, command, started_at, finished_at, outcome, error, counts)
    values (
      ${runId}, ${command}, clock_timestamp() - ${agoMs} * interval '1 ms',
      case when ${outcome} <> 'running' then clock_timestamp() - ${agoMs - tookMs} * interval '1 ms' end,
      ${outcome}, ${error ?? null}, ${counts === undefined ? null : JSON.stringify(counts)}::jsonb
    )`);
  return runId;
}

/** Two weeks with a sync every hour; some of them failed. */
async function logRuns(db: Database, failures: ReadonlyMap<number, RunShape> = new Map()) {
  for (let hours = 14 * 24 - 8; hours > 0; hours--) {
    const agoMs = hours * hourMs + 12 * minuteMs;
    await logRun(db, { agoMs, ...failures.get(hours) });
  }
  await logRun(db, { agoMs: 12 * minuteMs });
}

/** Does what `reconcile` does, or `reconcile --full`, including its row in the run log. */
export async function check(db: Database, { isFull = true } = {}): Promise<void> {
  const { breaks, isFull: isWhole } = await reconcile(db, everything, { isFull });
  const outcome = breaks.length === 0 ? "complete" : "incomplete";
  await logRun(db, {
    command: "reconcile",
    agoMs: 1,
    tookMs: 1,
    outcome,
    counts: { isFull: isWhole, isOfAll: isWhole, breaks: breaks.length },
  });
}

/**
 * Removes a bill that moves a balance from the middle of a ledger, as if it had never been served.
 */
export async function losesBill(db: Database, productType: ProductType, share: number) {
  await db.execute(sql`
    with moving as (
      select bill_id, row_number() over (order by c_time, bill_id) as place, count(*) over () as of
      from bills
      where product_type = ${productType}
        and amount <> 0
        and balance is not null
        and business_type in ('close_long', 'close_short', 'contract_settle_fee')
    )
    delete from bills
    where product_type = ${productType}
      and bill_id in (select bill_id from moving where place = floor(of * ${share}::numeric))`);
  // Otherwise that a row was deleted is a break, too.
  await db.execute(sql`update ledgers set bills = bills - 1 where product_type = ${productType}`);
}

/** States that look different; what each headline says of a database is in health-states.ts. */
export const states: Readonly<Record<string, (db: Database) => Promise<void>>> = {
  nothing: async () => undefined,
  "at work": async (db) => {
    const known = {
      "USDT-FUTURES": {
        read: [
          [90, 83],
          [55, 48],
        ],
      },
      "COIN-FUTURES": { read: [[90, 83]] },
      "USDC-FUTURES": { read: [[90, 83]] },
    } satisfies LedgerShape["known"];
    await storeAccount(db, { known });
    await logRun(db, { agoMs: 30_000, outcome: "running" });
    await db.execute(sql`
      insert into windows (account, product_type, window_start, window_end)
      select account, product_type, upper(covered), clock_timestamp() - interval '15 minutes'
      from ledgers
      where product_type not like 'S%'
        and covered <> '{}'`);
    await db.execute(sql`
      update ledgers
      set open = tstzmultirange(tstzrange(window_start, window_end))
      from windows
      where ledgers.account = windows.account
        and ledgers.product_type = windows.product_type`);
  },
  breaks: async (db) => {
    const known = {
      "COIN-FUTURES": {
        read: [
          [203, 104.8],
          [93, 0.01],
        ],
        lost: [[104.8, 93]],
      },
      "USDC-FUTURES": {
        read: [
          [90, 22.8],
          [13, 0.01],
        ],
      },
    } satisfies LedgerShape["known"];
    await storeAccount(db, { known });
    const failed = {
      agoMs: 0,
      outcome: "failed",
      error: "the exchange is down for maintenance (503)",
    };
    await logRuns(
      db,
      new Map(
        [53, 54, 130, 200, 201, 202, 300].map((hours) => [
          hours,
          { ...failed, agoMs: hours * hourMs, tookMs: 4_500 },
        ]),
      ),
    );
    await losesBill(db, "USDT-FUTURES", 0.3);
    await losesBill(db, "USDT-FUTURES", 0.8);
    await losesBill(db, "COIN-FUTURES", 0.7);
    await check(db);
    const note = "A correction of the exchange, as its support wrote on 2026-09-02";
    await decideOnBreaks(db, { breakIds: [1], isAccept: true, note, by: "Ada" });
  },
  behind: async (db) => {
    await storeAccount(db, { agoMs: 3 * dayMs });
    await check(db);
  },
  good: async (db) => {
    await storeAccount(db);
    await logRuns(db);
    await check(db);
  },
};
