  -- The last bill before a day that shows a balance, and the balance with what the bills after it moved. The placeholder
  -- is_wanted says when it is looked up at all.
  select
    shown.day,
    shown.booked_at,
    shown.balance + coalesce(sum(wallet_amount + wallet_fee), 0) as balance,
    count(entries.day) as bills
  from (
    select
      last.day,
      bills.balance,
      greatest(bills.c_time, bill_order.booked_at) as booked_at,
      coalesce(bill_order.place, 0) as place,
      bills.product_type,
      bills.bill_id
    from (
      select last.day, last.c_time
      from unnest(chains.product_types) as types (product_type)
      cross join lateral (
        select $bills_day as day, bills.c_time
        from bills
        where bills.account = chains.account
          and bills.product_type = types.product_type
          and bills.coin = chains.coin
          and $bills_with_balance
          and $bills_day < $end_day
        order by $bills_day desc, bills.c_time desc
        limit 1
      ) as last
      where $is_wanted
      order by last.c_time desc
      limit 1
    ) as last
    join bills
      on bills.account = chains.account
      and bills.product_type = any(chains.product_types)
      and bills.coin = chains.coin
      and $bills_with_balance
      and $bills_day = last.day
      and bills.c_time between last.c_time - $chains_booked_max and last.c_time
    left join bill_order
      on bill_order.account = bills.account
      and bill_order.product_type = bills.product_type
      and bill_order.bill_id = bills.bill_id
    order by row($bills_place) desc
    limit 1
  ) as shown
  left join (
    analytics.entries
    left join bill_order using (account, product_type, bill_id)
  )
    on entries.account = chains.account
    and entries.product_type = any(chains.product_types)
    and entries.coin = chains.coin
    and $entries_without_balance
    and entries.day >= shown.day
    and entries.day < $end_day
    and (entries.day > shown.day or row($entries_place) > row($shown_place))
  group by shown.day, shown.booked_at, shown.balance
