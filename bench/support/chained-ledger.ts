/**
 * The statement that stores bills of four product types, `chain-0` to `chain-3`, in turns, this
 * many seconds apart. Each balance is the one before plus amount and fee; one bill of a hundred has
 * no balance. One of ten is funding, and one of some thousands a transfer, a liquidation or a
 * bonus.
 */
export const chainedLedger = (
  bills: number,
  everySeconds = 25,
  ingestedAt = "clock_timestamp()",
): string => `
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
    case
      when n % 5003 = 0 then 'trans_from_exchange'
      when n % 20011 = 0 then 'burst_long_loss_query'
      when n % 25013 = 0 then 'bonus_issue'
      when n % 10 = 0 then 'contract_settle_fee'
      else 'close_long'
    end,
    'USDT',
    case
      when n % 100 > 0
      then 100000 + sum(amount + fee) over (partition by product_type order by n)
    end,
    c_time,
    ${ingestedAt}
  from (
    select
      n,
      'chain-' || n % 4 as product_type,
      ((n * 7919) % 2000003 - 1000001) / 100000.0 as amount,
      -((n * 104729) % 100003) / 100000000.0 as fee,
      timestamptz '2025-01-01Z' + n * interval '${everySeconds} seconds' as c_time
    from generate_series(1::bigint, ${bills}) as n
  ) as drawn`;
