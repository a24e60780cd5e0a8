import type { BenchDatabase } from "./postgres.ts";

/**
 * Fills the tables with many accounts of one to six ledgers each, with 90 days in windows of a
 * week.
 */
export async function seedFleet(
  { client }: Pick<BenchDatabase, "client">,
  accounts: number,
): Promise<void> {
  await client.query("set synchronous_commit = off");
  for (const statement of [states, checkpoints, openWindows, times, counts, rejected, breaks]) {
    await client.query(statement.replaceAll("$accounts", String(accounts)));
  }
  await client.query("vacuum analyze");
}

const ledgers = `
  (
    select
      n,
      'fund-' || lpad(n::text, 7, '0') as account,
      (array[
        'USDT-FUTURES', 'COIN-FUTURES', 'USDC-FUTURES', 'SUSDT-FUTURES', 'SCOIN-FUTURES',
        'SUSDC-FUTURES'
      ])[place] as product_type,
      -- One in a hundred is hours behind, one in ten thousand weeks.
      date_trunc('minute', now()) - case
        when n % 10000 = 7 then interval '85 days'
        when n % 100 = 3 then interval '9 hours'
        else n % 60 * interval '1 minute'
      end as newest
    from generate_series(1, $accounts) as n
    cross join generate_series(1, 6) as place
    where place <= 1 + n % 6
  ) as ledgers`;

const states = `
  insert into stream_states (account, product_type, mode, mode_since)
  select 'fund-' || lpad(n::text, 7, '0'), '', 'classic', now() - interval '90 days'
  from generate_series(1, $accounts) as n`;

const checkpoints = `
  insert into checkpoints (
    account, product_type, window_start, window_end, state, pages, bills, run_id, started_at,
    updated_at
  )
  select
    account, product_type, newest - (week + 1) * interval '7 days', newest - week * interval '7 days',
    'complete', 2, 100, '00000000-0000-4000-8000-000000000000', now(), now()
  from ${ledgers}
  cross join generate_series(0, 12) as week
  order by account, product_type, week desc`;

const openWindows = `
  insert into checkpoints (
    account, product_type, window_start, window_end, state, run_id, updated_at
  )
  select account, product_type, newest, newest + interval '1 hour', 'open',
    '00000000-0000-4000-8000-000000000000', now()
  from ${ledgers}
  where n % 1000 = 3`;

/** As the migration fills it, and each run keeps it up to date. */
const times = `
  insert into streams (
    account, product_type, covered, lost, open, settled_to, read_at, lost_at, told_at
  )
  select
    account, product_type, covered, '{}', open, least(upper(covered), lower(open)), read_at, null,
    told_at
  from (
    select
      account,
      product_type,
      coalesce(
        range_agg(tstzrange(window_start, window_end)) filter (where state = 'complete'), '{}'
      ) as covered,
      coalesce(
        range_agg(tstzrange(window_start, window_end)) filter (where state = 'open'), '{}'
      ) as open,
      max(updated_at) as read_at,
      max(started_at) as told_at
    from checkpoints
    group by account, product_type
  ) as grouped`;

const counts = `
  insert into streams (account, product_type, bills)
  select account, product_type, 1300
  from ${ledgers}
  on conflict (account, product_type) do update
  set bills = excluded.bills`;

const rejected = `
  insert into rejected_bills (
    account, product_type, digest, received, fault_path, fault, run_id, rejected_at
  )
  select account, product_type, 'digest', '{}', '', 'is not an object',
    '00000000-0000-4000-8000-000000000000', now()
  from ${ledgers}
  where n % 5000 = 11`;

const breaks = `
  insert into ledger_breaks (
    break_id, kind, account, product_type, coin, anchor, explanation, first_seen_at, last_seen_at,
    state
  )
  select n, 'balance', account, product_type, 'USDT', 'anchor', 'the balance jumps', now(), now(),
    'open'
  from ${ledgers}
  where n % 5000 = 12
    and product_type = 'USDT-FUTURES'`;
