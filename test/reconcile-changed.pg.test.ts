// Checks of what changed find what a whole one finds, whatever was stored, late, restated, covered, mapped or
// accepted, and committed while a check ran (two random histories; CHANGED_SEEDS=100 plays a hundred others).

import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { type Reconciliation, reconcile } from "../src/check/reconcile/reconcile.ts";
import { decideOnBreaks } from "../src/check/reconcile/record-breaks.ts";
import { type Database, inTransaction } from "../src/core/postgres/connect.ts";
import { mapType } from "../src/core/store/reference/stored-business-types.ts";
import { hourMs } from "../src/lib/time.ts";
import { integer, pick, type Random, seededRandom } from "../src/wings/sandbox/random.ts";
import {
  type ChangingLedger,
  changingLedger,
  comeLate,
  goOn,
  readUnread,
  restate,
} from "./support/changing-ledger.ts";
import { openTestDatabase } from "./support/database.ts";
import { unproven } from "./support/unproven.ts";

const everything = { accounts: undefined, productTypes: undefined };

/** As if all that was checked had been read a day earlier: not an account's page that came later. */
const age = (db: Database, unchecked: string) =>
  db.execute(sql`
    with aged as (
      update bills
      set ingested_at = ingested_at - interval '1 day'
      where account <> ${unchecked}
    )
    update bill_revisions
    set replaced_at = replaced_at - interval '1 day'
    where account <> ${unchecked}`);

async function findings(db: Database): Promise<readonly string[]> {
  const { rows } = await db.execute<{ text: string }>(sql`
    select concat_ws(
      ' ', account, state, ledger, coin, kind, anchor, happened_at, expected, observed, difference,
      first_bad_product_type, first_bad_bill, last_good_product_type, last_good_bill, explanation
    ) as text
    from ledger_breaks
    where state <> 'resolved'
    order by 1`);
  return rows.map(({ text }) => text);
}

async function signOne(db: Database, random: Random): Promise<void> {
  const { rows } = await db.execute<{ break_id: string }>(
    sql`select break_id from ledger_breaks where state = 'open' order by break_id`,
  );
  if (rows.length === 0) return;
  const breakIds = [Number(pick(random, rows).break_id)];
  await decideOnBreaks(db, { breakIds, isAccept: true, note: "looked into it", by: null });
}

/** What may happen between two checks. */
async function change(
  db: Database,
  ledgers: readonly ChangingLedger[],
  random: Random,
): Promise<void> {
  for (const ledger of ledgers) {
    await inTransaction(db, async (tx) => {
      if (random() < 0.7) await goOn(tx, ledger, random, 60);
      if (random() < 0.3) await comeLate(tx, ledger, random);
      if (random() < 0.3) await readUnread(tx, ledger);
      if (random() < 0.3) await restate(tx, ledger, random);
    });
  }
  if (random() < 0.2) await signOne(db, random);
  if (random() < 0.04) await mapType(db, "settle_interest", pick(random, ["copy", undefined]));
}

/** Checks while a page of one account is written, which is committed after the check. */
async function checkMeanwhile(
  db: Database,
  ledger: ChangingLedger,
  random: Random,
): Promise<Reconciliation> {
  const [written, checked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const committed = inTransaction(
    db,
    async (tx) => {
      await goOn(tx, ledger, random, 10);
      await comeLate(tx, ledger, random);
      written.resolve();
      await checked.promise;
    },
    { idleMaxMs: hourMs },
  );
  await written.promise;
  const checking = reconcile(db, everything, { isFull: false });
  // What the check stores may wait for the page.
  const end = new AbortController();
  await Promise.race([checking, lockWait(db, end.signal)]);
  end.abort();
  checked.resolve();
  await committed;
  return await checking;
}

/** Returns once a session waits for a lock. */
async function lockWait(db: Database, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { rowCount } = await db.execute(sql`
      select 1
      from pg_stat_activity
      where datname = current_database()
        and wait_event_type = 'Lock'`);
    if (rowCount !== 0) return;
    await sleep(20);
  }
}

// These two need all that a check of changes looks at. CHANGED_SEEDS=100 plays a hundred others.
const count = process.env["CHANGED_SEEDS"];
const seeds =
  count === undefined ? [3, 22] : Array.from({ length: Number(count) }, (_, seed) => seed + 100);

test.each(seeds)(
  "what checks of changes find is what a whole check finds (seed %i)",
  async (seed) => {
    await using database = await openTestDatabase();
    const { db } = database;
    const random = seededRandom(`changed ${seed}`);
    const ledgers = [
      changingLedger(`first ${seed}`, "classic"),
      changingLedger(`second ${seed}`, "classic"),
      changingLedger(`third ${seed}`, "unified"),
    ];
    const checks = { all: 0, whole: 0 };
    for (let step = 1; step <= 12; step++) {
      let unchecked = "";
      for (let times = integer(random, 1, 3); times > 0; times--) {
        await age(db, unchecked);
        await change(db, ledgers, random);
        const ledger = pick(random, ledgers);
        const { isFull } = await checkMeanwhile(db, ledger, random);
        unchecked = ledger.account;
        checks.all += 1;
        checks.whole += Number(isFull);
      }
      await age(db, unchecked);
      await reconcile(db, everything, { isFull: false });
      expect(await unproven(db), `step ${step}`).toEqual([]);
      const found = await findings(db);
      await reconcile(db, everything, { isFull: true });
      expect(found, `step ${step}`).toEqual(await findings(db));
      expect(await unproven(db)).toEqual([]);
    }
    expect((await findings(db)).length).toBeGreaterThan(3);
    expect(checks.whole).toBeLessThan(checks.all);
  },
);
