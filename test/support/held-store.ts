import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import type { PoolClient } from "pg";
import type { Database } from "../../src/core/postgres/connect.ts";
import { readKnownTime } from "../../src/core/store/known-time.ts";
import { openStore, type Store } from "../../src/core/store/ledger-store.ts";
import type { Interval } from "../../src/core/words/intervals.ts";
import type { Ledger } from "../../src/core/words/ledger.ts";
import type { PageCommit } from "../../src/core/words/page.ts";
import { epochMs, minuteMs } from "../../src/lib/time.ts";
import { aLedger } from "./bills.ts";

/** When the windows of these tests begin, with milliseconds that rounding would lose. */
export const origin = epochMs(Date.UTC(2026, 2, 1, 12, 34, 56, 789));

/** A window, in minutes since the origin. */
export const minutes = (from: number, to: number): Interval => ({
  from: epochMs(origin + from * minuteMs),
  to: epochMs(origin + to * minuteMs),
});

export type HeldLedger = { readonly ledger: Ledger; readonly store: Store };

/** A ledger of its own, whose account is held for an hour. */
export async function holdLedger(db: Database): Promise<HeldLedger> {
  const ledger = aLedger();
  await db.execute(sql`
    insert into leases (account, holder, epoch, expires_at)
    values (${ledger.account}, 'test', 1, clock_timestamp() + interval '1 hour')`);
  return { ledger, store: openStore(db, { account: ledger.account, epoch: 1 }) };
}

/** Plans to walk these windows from their newest pages. */
export const plan = ({ store, ledger }: HeldLedger, windows: readonly Interval[]) =>
  store.recordPlans([
    { ledger, plannedAt: origin, windows: windows.map((window) => ({ window })), lost: [] },
  ]);

export const aPage = (
  ledger: Ledger,
  window: Interval,
  next: PageCommit["next"],
  but: Partial<PageCommit> = {},
): PageCommit => ({
  ledger,
  window,
  startedAt: origin,
  cursorBefore: undefined,
  bills: [],
  rejected: [],
  next,
  ...but,
});

/** The end of a walk that read its whole window. */
export const provenWhole = (window: Interval): PageCommit["next"] => ({
  end: { proven: [window], lost: [] },
});

/** What is known of a ledger's time as text: from and to in minutes, state, and an open window's cursor. */
export async function timesOf(db: Database, ledger: Ledger): Promise<readonly string[]> {
  const { coverage, lost, open } = await readKnownTime(db, ledger);
  const minute = (time: number) => (time - origin) / minuteMs;
  const known = [
    ...coverage.map((window) => ({ window, text: "covered" })),
    ...lost.map((window) => ({ window, text: "lost" })),
    ...open.map(({ window, cursor }) => ({ window, text: ["open", cursor].join(" ").trim() })),
  ].toSorted((a, b) => a.window.from - b.window.from);
  return known.map(({ window: { from, to }, text }) => `${minute(from)}-${minute(to)} ${text}`);
}

export type Loss = "the statement" | "its answer";

/** The database, of which one statement, or its answer, is lost together with the connection. */
export function losing(db: Database, what: Loss, isLost: (text: string, place: number) => boolean) {
  const statements: string[] = [];
  const spoil = (client: PoolClient): PoolClient =>
    new Proxy(client, {
      get(target, name) {
        if (name !== "query") return Reflect.get(target, name, target);
        return async (config: { text: string }, values: unknown[]) => {
          const text = config.text.trim();
          if (!isLost(text, statements.push(text))) return target.query(config, values);
          if (what === "its answer") await target.query(config, values);
          throw new Error("Connection terminated unexpectedly");
        };
      },
    });
  const connect = async () => spoil(await db.$client.connect());
  const lossy: Database = Object.create(db, { $client: { value: { connect } } });
  return { db: lossy, statements };
}

const looksMax = 500;

/**
 * Resolves once a session of the database waits for a lock; renewals wait, too.
 */
export async function untilBlocked(db: Database): Promise<void> {
  for (let look = 0; look < looksMax; look++) {
    const { rows } = await db.execute<{ blocked: number }>(sql`
      select count(*)::int as blocked
      from pg_stat_activity
      where datname = current_database()
        and wait_event_type = 'Lock'`);
    if ((rows[0]?.blocked ?? 0) > 0) return;
    await sleep(10);
  }
  throw new Error("no session ever waited for a lock");
}
