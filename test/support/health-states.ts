import { sql } from "drizzle-orm";
import type { Account } from "../../src/accounts/account.ts";
import type { Database } from "../../src/core/postgres/connect.ts";
import { dayMs, type EpochMs, epochMs, hourMs, isoTime } from "../../src/lib/time.ts";

/** Statements with times as `{5 h}` or `{20 d}`: so long ago. */
type Statements = readonly string[];

/** A database in a state, what is found in it, and what to type first. Every output is held to this table. */
type HealthState = {
  readonly name: string;
  readonly statements: Statements;
  /** The kinds, worst first. */
  readonly found: readonly string[];
  readonly title: string;
  readonly next?: string;
  readonly configured?: readonly Account[];
};

const ledger = ({
  covered = "[{91 d}, {1 h})",
  lost = "",
  open = "",
  settled = "{1 h}",
  type = "USDT-FUTURES",
  stored = "{1 d}",
} = {}) => `
  insert into ledgers (account, product_type, bills, covered, lost, open, first_unread_at, stored_at)
  values ('a', '${type}', 1, '{${covered}}', '{${lost}}', '{${open}}', '${settled}', '${stored}');
  insert into bills (account, product_type, bill_id, amount, fee, business_type, coin, balance, c_time, ingested_at)
  values ('a', '${type}', '1', 1, 0, 'open_long', 'USDT', 2, '{200 d}', '${stored}')`;
/** Two bills of the last hours, of which one moves 1. */
const newest = (balance: number) => `
  insert into bills (account, product_type, bill_id, amount, fee, business_type, coin, balance, c_time, ingested_at)
  values
    ('a', 'USDT-FUTURES', '2', 1, 0, 'open_long', 'USDT', 3, '{6 h}', '{1 d}'),
    ('a', 'USDT-FUTURES', '3', 1, 0, 'open_long', 'USDT', ${balance}, '{5 h}', '{1 d}')`;
const told = (mayDiffer: string, balance: string, wallet = "USDT-FUTURES") => `
  insert into wallet_balances (account, wallet, coin, first_seen_at, last_seen_at, balance, may_differ, expected)
  values ('a', '${wallet}', 'USDT', '{2 h}', '{1 h}', ${balance}, ${mayDiffer}, 2)`;
const checked = (type = "USDT-FUTURES") => `
  insert into reconciled_chains (account, wallet, coin, checked_before, stored_through, tested, rounded)
  values ('a', '${type}', 'USDT', '{1 h}', '{1 h}', 12, 0)`;
const synced = `
  insert into runs (run_id, command, started_at, outcome)
  values (gen_random_uuid(), 'sync', '{1 h}', 'complete')`;
const refused = (account: string) => `
  insert into runs (run_id, command, started_at, outcome, counts)
  values (
    gen_random_uuid(), 'sync', '{2 h}', 'failed',
    '{"accounts": [{"account": "${account}", "error": "there is no such key", "isPermanent": true}]}'
  )`;
const ended = (outcome: string, error = "null", minutes = 10) => `
  insert into runs (run_id, command, started_at, outcome, error)
  values (
    gen_random_uuid(), 'sync', timestamptz '{0 h}' - interval '${minutes} minutes', '${outcome}', ${error}
  )`;
const state = (fields: string, values: string, type = "") => `
  insert into ledgers (account, product_type, ${fields}) values ('a', '${type}', ${values})
  on conflict (account, product_type) do update
  set (${fields}) = row (${fields.replace(/\w+/g, "excluded.$&")})`;
const aBreak = (
  kind: string,
  {
    wallet = "USDT-FUTURES",
    state: decided = "open",
    bill = false,
    at = "{1 d}",
    coin = "USDT",
    difference = "-67.39",
  } = {},
) => `
  insert into ledger_breaks (
    break_id, kind, account, ledger, coin, anchor, happened_at, difference, first_bad_bill,
    explanation, first_seen_at, last_seen_at, state
  )
  values (
    7, '${kind}', 'a', '${wallet}', '${coin}', 'x', '${at}', ${difference}, ${bill ? "'1'" : "null"}, 'x', now(),
    now(), '${decided}'
  )`;
const rejected = (superseded: string) => `
  insert into rejected_bills (
    account, product_type, digest, received, path, reason, rejected_at, superseded_at
  )
  values ('a', 'USDT-FUTURES', 'd', '{}', '', '', '{1 d}', ${superseded})`;
const ofType = (category: string, amount: string) => `
  insert into business_types (code, category, meaning, listed_category)
  values ('gift', '${category}', '', '${category}');
  insert into bills (account, product_type, bill_id, amount, fee, business_type, coin, c_time, ingested_at)
  select 'a', 'USDT-FUTURES', 'gift ' || n, ${amount}, 0, 'gift', 'USDT', '{3 d}', '{3 d}'
  from generate_series(1, 3) as n`;
const loan = (ltv: string, held: string) => `
  insert into ltv_snapshots (account, risk_unit_id, first_seen_at, last_seen_at, ltv)
  values ('a', '', '{40 d}', '${held}', ${ltv})`;

/** A ledger that was synced and checked. */
const read = (of: Parameters<typeof ledger>[0] = {}) => [synced, ledger(of), checked()];
const well = read();
const lostTime = { covered: "[{80 d}, {1 h})", lost: "[{100 d}, {80 d})" };
const lostBreak = (decided: string) =>
  aBreak("lost", { state: decided, coin: "", at: "{100 d}", difference: `${20 * dayMs}` });
const toAccept = 'bill-sync breaks accept 7 --note "…"';
const good = "Complete, and it adds up";
const fine = (name: string, statements: Statements, title = good): HealthState => ({
  ...{ name, statements, found: [], title },
});

/** The title that a kind gives if it is the worst, and what to type first. */
const verdicts: Readonly<Record<string, readonly [title: string, next?: string]>> = {
  "never-synced": ["Nothing was ever read", "bill-sync sync"],
  "cannot-sync": ["An account could not be synced", "bill-sync doctor"],
  "cut-short": ["The last sync did not finish", "bill-sync sync"],
  "never-read": ["Not complete", "bill-sync sync"],
  unread: ["Not complete", "bill-sync sync"],
  "partly-recovered": ["Not complete"],
  unchecked: ["Complete, not yet reconciled", "bill-sync reconcile"],
  behind: ["Out of date", "bill-sync sync"],
  expiring: ["Unread bills are about to be lost", "bill-sync sync"],
  lost: ["Some history is lost", toAccept],
  broken: ["It does not add up", "bill-sync reconcile --repair"],
  restated: ["Some bills were replaced", toAccept],
  rejected: ["Some rows were rejected", "bill-sync breaks list"],
  unclassified: ["Some bills have no category", "bill-sync types set gift CATEGORY"],
  unexplained: ["Some balances are not explained"],
  "ltv-high": ["Loan to value is too high", "bill-sync sync"],
};

/** A state by what is found in it, worst first. */
const wrong = (
  found: string,
  name: string,
  statements: Statements,
  others: Pick<HealthState, "next" | "configured"> = {},
): HealthState => {
  const kinds = found.split(", ");
  const [title, next] = verdicts[kinds[0] ?? ""] ?? [good];
  return { name, statements, found: kinds, title, ...(next !== undefined && { next }), ...others };
};

export const healthStates: readonly HealthState[] = [
  fine("read and checked", well),
  wrong("never-synced", "never synced", []),
  wrong("cannot-sync", "a key that was refused, of an account that was never read", [
    ...well,
    refused("b"),
  ]),
  fine(
    "a key that was refused before a later sync read its account, and one of a retired account",
    [
      ...[...well, refused("a"), refused("p")],
      `insert into ledgers (account, product_type, retired_at) values ('p', '', now())`,
    ],
  ),
  ...[
    ["running"],
    ["stopped"],
    ["failed", "'the exchange is down'"],
    ["incomplete", "'the exchange is down'"],
  ].map(([outcome = "", error]) =>
    wrong("cut-short", `a last sync that did not finish: ${outcome}`, [
      ...well,
      ended(outcome, error),
    ]),
  ),
  fine(
    "a last sync that found a break which was accepted since, and one that another held back",
    [
      ...[...well, ended("incomplete", "null", 20), ended("held")],
      aBreak("balance", { state: "accepted" }),
    ],
    "Complete, with accepted differences of 67.39 USDT",
  ),
  wrong("never-read", "a configured ledger that was never read", well, {
    configured: [{ name: "a", productTypes: ["USDT-FUTURES", "COIN-FUTURES", "UTA-SPOT"] }],
  }),
  {
    ...fine("configured ledgers that no sync reads", [
      ...[...well, state("mode, mode_since", "'classic', now()")],
      state("retired_at", "now()", "COIN-FUTURES"),
      state("not_available_since, not_available_asked_at", "now(), now()", "USDC-FUTURES"),
      `insert into ledgers (account, product_type, mode, mode_since) values ('u', '', 'unified', now())`,
    ]),
    configured: [
      { name: "a", productTypes: ["COIN-FUTURES", "USDC-FUTURES", "UTA-SPOT"], readsAll: true },
      { name: "u", productTypes: ["COIN-FUTURES"] },
    ],
  },
  wrong("unchecked", "never checked", [synced, ledger()]),
  wrong("unchecked", "bills came after the check", read({ stored: "{0 h}" })),
  wrong("behind", "5 h behind", read({ covered: "[{91 d}, {5 h})", settled: "{5 h}" })),
  fine("a sync at work, whose last hour is unread", read({ open: "[{1 h}, {0 h})" })),
  wrong(
    "expiring, behind",
    "about to be lost",
    read({ covered: "[{95 d}, {86 d})", settled: "{86 d}" }),
  ),
  wrong("unread", "a gap", [
    ...read({ covered: "[{91 d}, {20 d}),[{10 d}, {1 h})", settled: "{20 d}" }),
  ]),
  wrong("unread", "a first sync that was cut short an hour ago", [
    ...read({
      ...{ covered: "[{2161 h}, {2000 h})", open: "[{2000 h}, {0 h})", settled: "{2000 h}" },
    }),
  ]),
  wrong("expiring, unread", "a history that begins late, since an empty key had read it", [
    ...read({ covered: "[{50 d}, {1 h})" }),
  ]),
  wrong("lost", "lost time, long ago", [...read(lostTime), lostBreak("open")]),
  fine(
    "lost time that was accepted",
    [...read(lostTime), lostBreak("accepted")],
    "Complete, with accepted lost time of 20 d",
  ),
  wrong(
    "lost",
    "a balance that does not follow, beside lost time",
    [...read(lostTime), aBreak("unread")],
    { next: "bill-sync reconcile" },
  ),
  wrong("unchecked", "a balance that does not follow, beside time that was read since", [
    ...well,
    aBreak("unread"),
  ]),
  wrong(
    "lost",
    "ended before all was read",
    [
      ...read({ covered: "[{101 d}, {20 d})", settled: "{20 d}" }),
      state("ended_at", "'{10 d}'", "USDT-FUTURES"),
    ],
    { next: "bill-sync reconcile" },
  ),
  fine("retired, with a gap", [
    ...read({ covered: "[{91 d}, {20 d})", open: "[{20 d}, {1 d})", settled: "{20 d}" }),
    ...[state("retired_at", "now()"), ended("stopped")],
  ]),
  wrong("broken", "a break whose bills the exchange still serves", [
    ...well,
    aBreak("balance", { bill: true }),
  ]),
  wrong("broken", "a break while a sync is at work", [
    ...[...well, aBreak("balance", { bill: true })],
    `insert into runs (run_id, command, started_at, outcome)
    values (gen_random_uuid(), 'sync', clock_timestamp(), 'running')`,
  ]),
  fine("balances of the last hours that follow", [...well, newest(4)]),
  wrong(
    "broken",
    "a balance of the last hours that does not follow, of which no check says so",
    [...well, newest(5)],
    { next: "bill-sync reconcile --full --repair" },
  ),
  wrong(
    "broken",
    "a transfer whose legs differ, which is of no wallet",
    [...well, aBreak("transfer", { wallet: "" })],
    { next: toAccept },
  ),
  fine(
    "an accepted break",
    [...well, aBreak("balance", { state: "accepted" })],
    "Complete, with accepted differences of 67.39 USDT",
  ),
  wrong("restated", "restated bills", [...well, aBreak("restated", { coin: "", difference: "3" })]),
  wrong("rejected", "a rejected row", [...well, rejected("null")]),
  fine("a rejected row that was served well since", [...well, rejected("now()")]),
  wrong("partly-recovered", "a millisecond with more tax records than an answer shows", [
    ...well,
    "update ledgers set tax_comparison = json_build_object('partlyRecovered', array[extract(epoch from timestamptz '{95 d}') * 1000]::bigint[])",
  ]),
  wrong("unclassified", "money that no category has", [...well, ofType("unclassified", "516")]),
  fine("a type that moves nothing, and one with a category", [
    ...well,
    ofType("unclassified", "0"),
  ]),
  wrong("unexplained", "balances beside bills of a type that no rule fits", [
    ...well,
    `update reconciled_chains
    set unexplained = '[{"at": "{3 d}", "difference": "-1.5", "types": ["settle_interest"]}]'`,
  ]),
  wrong("unexplained", "a balance that differs from its bills, where that may be right", [
    ...well,
    told("true", "3"),
  ]),
  fine("balances that follow from the bills, and one that is a break if it is found to be", [
    ...well,
    told("true", "2.000000005"),
    told("false", "3", "USDC-FUTURES"),
  ]),
  wrong("ltv-high, ltv-behind", "a loan above the limit that was not read for hours", [
    ...well,
    loan("0.9", "{5 h}"),
  ]),
  fine("a loan of last month", [...well, loan("0.9", "{30 d}")]),
];

/** Brings a database into a state, as of a time. */
export async function plant(db: Database, statements: Statements, now: EpochMs): Promise<void> {
  const timed = (statement: string) =>
    statement.replaceAll(/\{(\d+) ([hd])\}/g, (_, count: string, unit: string) =>
      isoTime(epochMs(now - Number(count) * (unit === "h" ? hourMs : dayMs))),
    );
  for (const statement of statements) await db.execute(sql.raw(timed(statement)));
}
