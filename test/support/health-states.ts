import { sql } from "drizzle-orm";
import { dayMs, type EpochMs, epochMs, hourMs, isoTime } from "../../src/contract/time.ts";
import type { Database } from "../../src/db/connect.ts";
import type { Account } from "../../src/roster/account.ts";

/** Statements with times as `{5 h}` or `{20 d}`: so long ago. */
type Statements = readonly string[];

/** A database in a state, what is found in it, and what to type first. Every output is held to this table. */
type HealthState = {
  readonly name: string;
  readonly statements: Statements;
  /** The kinds, worst first; "demo " before those of demo trading. */
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
const told = (mayDiffer: string, balance: string, wallet = "USDT-FUTURES") => `
  insert into wallet_balances (account, wallet, coin, first_seen_at, last_seen_at, balance, may_differ, expected)
  values ('a', '${wallet}', 'USDT', '{2 h}', '{1 h}', ${balance}, ${mayDiffer}, 2)`;
const checked = (type = "USDT-FUTURES") => `
  insert into reconciled_chains (account, wallet, coin, checked_before, tested, rounded)
  values ('a', '${type}', 'USDT', '{1 h}', 12, 0)`;
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
  insert into type_days (
    account, product_type, coin, day, business_type, bills, amount_in, amount_out, gross_in, gross_out,
    fee_in, fee_out, coupon, without_balance, with_extra, odd_ids
  )
  values (
    'a', 'USDT-FUTURES', 'USDT', ('{3 d}'::timestamptz at time zone 'UTC')::date, 'gift', 3, ${amount}, 0, ${amount}, 0, 0, 0, 0, 0, 0, 0
  )`;
const loan = (ltv: string, held: string) => `
  insert into ltv_snapshots (account, risk_unit_id, first_seen_at, last_seen_at, ltv)
  values ('a', '', '{40 d}', '${held}', ${ltv})`;

const well = [synced, ledger(), checked()];
const lostTime = {
  covered: "[{80 d}, {1 h})",
  lost: "[{100 d}, {80 d})",
};
const good = "Complete, and it adds up";
const nothingWrong = (name: string, statements: Statements): HealthState => ({
  ...{ name, statements, found: [], title: good },
});

export const healthStates: readonly HealthState[] = [
  nothingWrong("read and checked", well),
  {
    name: "never synced",
    statements: [],
    found: ["never-synced"],
    title: "Nothing was ever read",
    next: "bill-sync sync",
  },
  {
    name: "a key that was refused, of an account that was never read",
    statements: [...well, refused("b")],
    found: ["cannot-sync"],
    title: "An account could not be synced",
    next: "bill-sync doctor",
  },
  nothingWrong(
    "a key that was refused before a later sync read its account, and one of a paused account",
    [
      ...well,
      refused("a"),
      refused("p"),
      `insert into ledgers (account, product_type, paused_at) values ('p', '', now())`,
    ],
  ),
  ...[
    ["running"],
    ["stopped"],
    ["failed", "'the exchange is down'"],
    ["incomplete", "'the exchange is down'"],
  ].map(([outcome = "", error]) => ({
    name: `a last sync that did not finish: ${outcome}`,
    statements: [...well, ended(outcome, error)],
    found: ["cut-short"],
    title: "The last sync did not finish",
    next: "bill-sync sync",
  })),
  {
    name: "a last sync that found a break which was accepted since, and one that another held back",
    statements: [
      ...well,
      ended("incomplete", "null", 20),
      ended("held"),
      aBreak("chain", { state: "accepted" }),
    ],
    found: [],
    title: "Complete, with accepted differences of 67.39 USDT",
  },
  {
    name: "a configured ledger that was never read",
    statements: well,
    configured: [
      { name: "a", productTypes: ["USDT-FUTURES", "COIN-FUTURES", "UTA-SPOT"] },
      { name: "b", productTypes: ["USDC-FUTURES"], demo: true },
    ],
    found: ["never-read", "demo never-read"],
    title: "Not complete",
    next: "bill-sync sync",
  },
  {
    name: "configured ledgers that no sync reads",
    statements: [
      ...well,
      state("mode, mode_since", "'classic', now()"),
      state("retired_at", "now()", "COIN-FUTURES"),
      state("not_available_since, not_available_asked_at", "now(), now()", "USDC-FUTURES"),
      `insert into ledgers (account, product_type, mode, mode_since) values ('u', '', 'unified', now())`,
      `insert into ledgers (account, product_type, paused_at) values ('p', '', now())`,
    ],
    configured: [
      { name: "a", productTypes: ["COIN-FUTURES", "USDC-FUTURES", "UTA-SPOT"], readsAll: true },
      { name: "u", productTypes: ["COIN-FUTURES"] },
      { name: "p", productTypes: ["COIN-FUTURES"] },
    ],
    found: [],
    title: good,
  },
  {
    name: "never checked",
    statements: [synced, ledger()],
    found: ["unchecked"],
    title: "Complete, not yet reconciled",
    next: "bill-sync reconcile",
  },
  {
    name: "bills came after the check",
    statements: [synced, ledger({ stored: "{0 h}" }), checked()],
    found: ["unchecked"],
    title: "Complete, not yet reconciled",
    next: "bill-sync reconcile",
  },
  {
    name: "5 h behind",
    statements: [synced, ledger({ covered: "[{91 d}, {5 h})", settled: "{5 h}" }), checked()],
    found: ["behind"],
    title: "Out of date",
    next: "bill-sync sync",
  },
  nothingWrong("a sync at work, whose last hour is unread", [
    synced,
    ledger({ open: "[{1 h}, {0 h})" }),
    checked(),
  ]),
  {
    name: "paused, and about to be lost",
    statements: [
      synced,
      ledger({ covered: "[{95 d}, {86 d})", settled: "{86 d}" }),
      checked(),
      state("paused_at", "now()"),
    ],
    found: ["expiring", "behind"],
    title: "Unread bills are about to be lost",
    next: "bill-sync accounts resume a",
  },
  {
    name: "a gap",
    statements: [
      synced,
      ledger({ covered: "[{91 d}, {20 d}),[{10 d}, {1 h})", settled: "{20 d}" }),
      checked(),
    ],
    found: ["unread"],
    title: "Not complete",
    next: "bill-sync sync",
  },
  {
    name: "a first sync that was cut short an hour ago",
    statements: [
      synced,
      ledger({
        ...{ covered: "[{2161 h}, {2000 h})", open: "[{2000 h}, {0 h})", settled: "{2000 h}" },
      }),
      checked(),
    ],
    found: ["unread"],
    title: "Not complete",
    next: "bill-sync sync",
  },
  {
    name: "a history that begins late, since an empty key had read it",
    statements: [synced, ledger({ covered: "[{50 d}, {1 h})" }), checked()],
    found: ["expiring", "unread"],
    title: "Unread bills are about to be lost",
    next: "bill-sync sync",
  },
  {
    name: "lost time, long ago",
    statements: [synced, ledger(lostTime), checked(), aBreak("lost", lostBreak("open"))],
    found: ["lost"],
    title: "Some history is lost",
    next: 'bill-sync breaks accept 7 --note "…"',
  },
  {
    name: "lost time that was accepted",
    statements: [synced, ledger(lostTime), checked(), aBreak("lost", lostBreak("accepted"))],
    found: [],
    title: "Complete, with an accepted loss of 20 d",
  },
  {
    name: "a balance that does not follow, beside lost time",
    statements: [synced, ledger(lostTime), checked(), aBreak("unread")],
    found: ["lost"],
    title: "Some history is lost",
    next: "bill-sync reconcile",
  },
  {
    name: "a balance that does not follow, beside time that was read since",
    statements: [...well, aBreak("unread")],
    found: ["unchecked"],
    title: "Complete, not yet reconciled",
    next: "bill-sync reconcile",
  },
  {
    name: "ended before all was read",
    statements: [
      synced,
      ledger({ covered: "[{101 d}, {20 d})", settled: "{20 d}" }),
      checked(),
      state("ended_at", "'{10 d}'", "USDT-FUTURES"),
    ],
    found: ["left-unread"],
    title: "Not complete",
    next: "bill-sync reconcile",
  },
  nothingWrong("retired, with a gap", [
    synced,
    ledger({ covered: "[{91 d}, {20 d})", open: "[{20 d}, {1 d})", settled: "{20 d}" }),
    checked(),
    state("retired_at", "now()"),
    ended("stopped"),
  ]),
  {
    name: "a break whose bills the exchange still serves",
    statements: [...well, aBreak("chain", { bill: true })],
    found: ["broken"],
    title: "It does not add up",
    next: "bill-sync reconcile --repair",
  },
  {
    name: "a break while a sync is at work",
    statements: [
      ...well,
      aBreak("chain", { bill: true }),
      `insert into runs (run_id, command, started_at, outcome)
      values (gen_random_uuid(), 'sync', clock_timestamp(), 'running')`,
    ],
    found: ["broken"],
    title: "It does not add up",
    next: "bill-sync reconcile --repair",
  },
  {
    name: "a transfer whose legs differ, which is of no wallet",
    statements: [...well, aBreak("transfer", { wallet: "" })],
    found: ["broken"],
    title: "It does not add up",
    next: 'bill-sync breaks accept 7 --note "…"',
  },
  {
    name: "an accepted break",
    statements: [...well, aBreak("chain", { state: "accepted" })],
    found: [],
    title: "Complete, with accepted differences of 67.39 USDT",
  },
  {
    name: "restated bills",
    statements: [...well, aBreak("restatement", { coin: "", difference: "3" })],
    found: ["restated"],
    title: "Some bills were replaced",
    next: 'bill-sync breaks accept 7 --note "…"',
  },
  {
    name: "a rejected row",
    statements: [...well, rejected("null")],
    found: ["rejected"],
    title: "Some rows were rejected",
    next: "bill-sync breaks list",
  },
  nothingWrong("a rejected row that was served well since", [...well, rejected("now()")]),
  {
    name: "a millisecond with more tax records than an answer shows",
    statements: [
      ...well,
      "update ledgers set tax_comparison = json_build_object('partlyRecovered', array[extract(epoch from timestamptz '{95 d}') * 1000]::bigint[])",
    ],
    found: ["partly-recovered"],
    title: "Not complete",
  },
  {
    name: "money that no category has",
    statements: [...well, ofType("unclassified", "516")],
    found: ["unclassified"],
    title: "Some bills have no category",
    next: "bill-sync types set gift CATEGORY",
  },
  nothingWrong("a type that moves nothing, and one with a category", [
    ...well,
    ofType("unclassified", "0"),
  ]),
  {
    name: "a balance that differs from its bills, where that may be right",
    statements: [...well, told("true", "3")],
    found: ["balance-differs"],
    title: "A balance differs from its bills",
  },
  nothingWrong(
    "balances that follow from the bills, and one that is a break if it is found to be",
    [...well, told("true", "2.000000005"), told("false", "3", "USDC-FUTURES")],
  ),
  {
    name: "a loan above the limit that was not read for hours",
    statements: [...well, loan("0.9", "{5 h}")],
    found: ["ltv-high", "ltv-behind"],
    title: "Loan to value is too high",
    next: "bill-sync sync",
  },
  nothingWrong("a loan of last month", [...well, loan("0.9", "{30 d}")]),
  {
    name: "demo products that do not add up",
    statements: [
      ...well,
      ledger({ type: "SUSDT-FUTURES" }),
      checked("SUSDT-FUTURES"),
      aBreak("chain", { wallet: "SUSDT-FUTURES" }),
    ],
    found: ["demo broken"],
    title: good,
  },
  {
    name: "a demo key whose ledger does not add up, and is behind",
    statements: [
      synced,
      ledger({ covered: "[{91 d}, {5 h})", settled: "{5 h}" }),
      checked(),
      state("is_demo", "true"),
      aBreak("chain"),
    ],
    found: ["demo broken", "demo behind"],
    title: good,
  },
];

function lostBreak(decided: string) {
  return { state: decided, coin: "", at: "{100 d}", difference: String(20 * dayMs) };
}

/** Brings a database into a state, as of a time. */
export async function plant(db: Database, statements: Statements, now: EpochMs): Promise<void> {
  const timed = (statement: string) =>
    statement.replaceAll(/\{(\d+) ([hd])\}/g, (_, count: string, unit: string) =>
      isoTime(epochMs(now - Number(count) * (unit === "h" ? hourMs : dayMs))),
    );
  for (const statement of statements) await db.execute(sql.raw(timed(statement)));
}
