    -- Of the bills at one end of a chain's time that may have changed places, the outermost whose balance is that end's: no
    -- other one follows the last, and the first follows no other one.
    select edge.*
    from (
      select
        edge_time,
        entries.day,
        entries.c_time,
        entries.product_type,
        entries.bill_id,
        entries.balance,
        wallet_amount + wallet_fee as moved,
        row_number() over (order by row($entries_place) $inward) as place
      from ($nearest
      ) as nearest (day, edge_time)
      join analytics.entries
        on entries.account = chains.account
        and entries.product_type = any(chains.product_types)
        and entries.coin = chains.coin
        and $entries_with_balance
        and entries.day = nearest.day
        and entries.c_time between $edge_times
      order by row($entries_place) $outward
      offset 0
    ) as edge
    where place = 1
      or not exists (
        select 1
        from analytics.entries
        where entries.account = chains.account
          and entries.product_type = any(chains.product_types)
          and entries.coin = chains.coin
          and $entries_with_balance
          and entries.day = edge.day
          and entries.c_time between $edge_times
          and abs($step) <= 0.00000001
          and (entries.product_type, entries.bill_id) <> (edge.product_type, edge.bill_id)
      )
    limit 1
