import type { BenchDatabase } from "./postgres.ts";

/**
 * Fills the tables with many accounts of one to six ledgers each, of which 90 days were
 * read.
 */
export async function seedFleet(
  { client }: Pick<BenchDatabase, "client">,
  accounts: number,
): Promise<void> {
  await client.query("set synchronous_commit = off");
  for (const statement of [states, openWindows, times, rejected, breaks]) {
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
  insert into ledgers (account, product_type, mode, mode_since)
  select 'fund-' || lpad(n::text, 7, '0'), '', 'classic', now() - interval '90 days'
  from generate_series(1, $accounts) as n`;

const openWindows = `
  insert into windows (account, product_type, window_start, window_end)
  select account, product_type, newest, newest + interval '1 hour'
  from ${ledgers}
  where n % 1000 = 3`;

const times = `
  insert into ledgers (
    account, product_type, bills, covered, open, first_unread_at, planned_at, planned_clock
  )
  select
    account, product_type, 1300, tstzmultirange(tstzrange(newest - interval '91 days', newest)),
    case when n % 1000 = 3
      then tstzmultirange(tstzrange(newest, newest + interval '1 hour'))
      else '{}'
    end,
    newest, now(), now()
  from ${ledgers}`;

const rejected = `
  insert into rejected_bills (
    account, product_type, digest, received, path, reason, rejected_at
  )
  select account, product_type, 'digest', '{}', '', 'is not an object', now()
  from ${ledgers}
  where n % 5000 = 11`;

const breaks = `
  insert into ledger_breaks (
    break_id, kind, account, ledger, coin, anchor, explanation, first_seen_at, last_seen_at,
    state
  )
  select n, 'balance', account, product_type, 'USDT', 'anchor', 'the balance jumps', now(), now(),
    'open'
  from ${ledgers}
  where n % 5000 = 12
    and product_type = 'USDT-FUTURES'`;
