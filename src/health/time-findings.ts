import { type SQL, sql } from "drizzle-orm";
import { dayMs, historyMs } from "../contract/time.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { ledgerTimes } from "../ledger/ledger-times.ts";
import { isNeverRead, type RosterLedger } from "../roster/roster.ts";
import { type Scope, select, timeOf, usualLimits } from "./select.ts";

const expirySoonMs = 7 * dayMs;

/** What the ledgers' times say. */
export function timeFindings(scope: Scope): readonly SQL[] {
  const { now, limits = usualLimits } = scope;
  const maxAge = timeOf(now - limits.maxAgeMs);
  const ledgers = ledgerTimes(scope);
  const spans = (column: SQL, condition: SQL) => sql`(
      select account, ledger, is_demo, is_paused, break_ids, unnest(${column}) as span
      from ${ledgers}
      where ${condition}
    ) as spans`;
  const ofSpan = { ledger: sql`ledger`, since: sql`lower(span)`, until: sql`upper(span)` };
  return [
    select("lost", { ...ofSpan, breakIds: sql`break_ids` }, spans(sql`lost`, sql`true`)),
    // A sync at work, or one that was cut short, leaves newer time unread: the next reads it.
    select(
      "unread",
      ofSpan,
      sql`${spans(sql`unread`, sql`is_read`)} where lower(span) < ${maxAge}`,
    ),
    select(
      "unreadable",
      { ...ofSpan, breakIds: sql`break_ids` },
      spans(sql`unread`, sql`is_closed`),
    ),
    select(
      "expiring",
      {
        ledger: sql`ledger`,
        since: sql`unread_from`,
        until: sql`unread_from + ${historyMs} * interval '1 ms'`,
      },
      sql`${ledgers} where is_read and unread_from < ${timeOf(now - historyMs + expirySoonMs)}`,
    ),
    select(
      "behind",
      { ledger: sql`ledger`, since: sql`planned_to` },
      sql`${ledgers} where is_read and planned_to < ${maxAge}`,
    ),
  ];
}

/** The ledgers that wait for their first run, as the roster has them. */
export function neverRead({ accounts, roster = [] }: Scope): SQL {
  const among = accounts && new Set(accounts);
  const ledgers = roster.filter((one) => isNeverRead(one) && (among?.has(one.account) ?? true));
  const column = (pick: (one: RosterLedger) => string) => textArray(ledgers.map(pick));
  return select(
    "never-read",
    { ledger: sql`ledger`, isPaused: sql`false` },
    sql`unnest(
        ${column(({ account }) => account)}::text[],
        ${column(({ productType }) => productType)}::text[],
        ${column(({ isDemo }) => String(isDemo))}::boolean[]
      ) as never_read (account, ledger, is_demo)`,
  );
}
