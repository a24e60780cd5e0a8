  -- The last balance before a day that is certain, with what the bills after it moved. One that comes later is as certain if
  -- these bills make it, but for rounding by one unit in the last place each.
  select
    coalesce(max(after.day) filter (where is_made), shown.day) as day,
    coalesce(max(after.c_time) filter (where is_made), shown.c_time) as c_time,
    coalesce(sum(after.moved), 0) + coalesce(
      (array_agg(after.balance - moved_through order by after.c_time desc, after.balance) filter (where is_made))[1],
      shown.balance
    ) as balance,
    count(after.c_time) - coalesce(max(bills_through) filter (where is_made), 0) as bills
  from (
$last
  ) as shown
  left join lateral (
    select
      entries.day,
      entries.c_time,
      entries.balance,
      wallet_amount + wallet_fee as moved,
      sum(wallet_amount + wallet_fee) over through as moved_through,
      count(*) over through as bills_through
    from analytics.entries
    where entries.account = chains.account
      and entries.product_type = any(chains.product_types)
      and entries.coin = chains.coin
      and $entries_any_balance
      and row(entries.day, entries.c_time) >= row(shown.day, shown.c_time)
      and entries.day < $end_day
      -- Those of its time that show a balance came before it.
      and (entries.c_time > edge_time or $entries_without_balance and row($entries_place) > row($shown_place))
    window through as (order by entries.c_time)
  ) as after on true
  cross join lateral (
    select abs(shown.balance + moved_through - after.balance) <= 0.00000001 * bills_through as is_made
  ) as compared
  group by shown.day, shown.c_time, shown.balance
