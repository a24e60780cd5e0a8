  -- The last bill before a day that shows a balance, and the balance with what the bills after it moved.
  select
    shown.day,
    shown.c_time,
    shown.balance + after.moved as balance,
    after.bills
  from (
$last
  ) as shown
  -- Bills of the same time that show no balance came before it if it contains them: if the balance before this time and
  -- all bills since make it.
  cross join lateral (
    select
      case
        when exists (
          select 1
          from bills
          where bills.account = chains.account
            and bills.product_type = any(chains.product_types)
            and bills.coin = chains.coin
            and $bills_without_balance
            and $bills_day = shown.day
            and bills.c_time between edge_time - $chains_booked_max and edge_time
        )
        then exists (
          select 1
          from ($shown_before
          ) as before
          join bills
            on bills.account = chains.account
            and bills.product_type = any(chains.product_types)
            and bills.coin = chains.coin
            and $bills_with_balance
            and $bills_day = before.day
            and bills.c_time = before.c_time
          cross join lateral (
            select
              sum(wallet_amount + wallet_fee) as moved,
              count(*) as bills
            from analytics.entries
            where entries.account = chains.account
              and entries.product_type = any(chains.product_types)
              and entries.coin = chains.coin
              and $entries_any_balance
              and entries.day between before.day and shown.day
              and entries.c_time > before.c_time
              and entries.c_time <= edge_time
          ) as since
          where abs(bills.balance + since.moved - shown.balance) <= 0.00000001 * since.bills
        )
        else false
      end as contains_all
    -- Asked once, not for each bill.
    offset 0
  ) as contents
  cross join lateral (
    select
      coalesce(sum(wallet_amount + wallet_fee), 0) as moved,
      count(*) as bills
    from analytics.entries
    where entries.account = chains.account
      and entries.product_type = any(chains.product_types)
      and entries.coin = chains.coin
      and $entries_without_balance
      and entries.day >= shown.day
      and entries.day < $end_day
      and case when contains_all then entries.c_time > edge_time
        else entries.day > shown.day or row($entries_place) > row($shown_place) end
  ) as after
