/**
 * The statement that stores bills of four product types, `chain-0` to `chain-3`, 25 seconds apart.
 * Each balance is the one before plus amount and fee; one bill of a hundred shows none.
 */
export const chainedLedger = (bills: number): string => `
  insert into bills (
    account, product_type, bill_id, symbol, amount, fee, business_type, coin, balance, c_time,
    ingested_at
  )
  select
    'main',
    product_type,
    (((extract(epoch from c_time) * 1000)::bigint - 1435725920677) << 22)::text,
    'BTCUSDT',
    amount,
    fee,
    case when n % 10 = 0 then 'contract_settle_fee' else 'close_long' end,
    'USDT',
    case
      when n % 100 > 0
      then 100000 + sum(amount + fee) over (partition by product_type order by n)
    end,
    c_time,
    clock_timestamp()
  from (
    select
      n,
      'chain-' || n % 4 as product_type,
      ((n * 7919) % 2000003 - 1000001) / 100000.0 as amount,
      -((n * 104729) % 100003) / 100000000.0 as fee,
      timestamptz '2025-01-01Z' + n * interval '25 seconds' as c_time
    from generate_series(1::bigint, ${bills}) as n
  ) as drawn`;
