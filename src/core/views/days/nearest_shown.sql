        -- The day and the time of the nearest bill of a chain that shows a balance: of each product type one look-up.
        select nearest.day, nearest.c_time
        from unnest(chains.product_types) as types (product_type)
        cross join lateral (
          select $bills_day as day, bills.c_time
          from bills
          where bills.account = chains.account
            and bills.product_type = types.product_type
            and bills.coin = chains.coin
            and $bills_with_balance
            and $is_near
          order by $bills_day $direction, bills.c_time $direction
          limit 1
        ) as nearest
        order by nearest.c_time $direction
        limit 1
