create or replace view analytics.contract_history as
select
  versions.product_type,
  versions.symbol,
  versions.valid_from,
  versions.valid_to,
  array(
    select fields.name
    from jsonb_each_text(to_jsonb(versions)) as fields (name, value)
    where fields.name not in ('product_type', 'symbol', 'valid_from', 'valid_to', 'before')
      and versions.before is not null
      and fields.value is distinct from versions.before ->> fields.name
    order by fields.name
  ) as changed,
  versions.base_coin,
  versions.quote_coin,
  versions.symbol_type,
  versions.symbol_status,
  versions.maker_fee_rate,
  versions.taker_fee_rate,
  versions.fund_interval,
  versions.min_trade_num,
  versions.size_multiplier,
  versions.volume_place,
  versions.price_place,
  versions.price_end_step,
  versions.min_trade_usdt,
  versions.max_order_qty,
  versions.max_market_order_qty,
  versions.min_lever,
  versions.max_lever,
  versions.pos_limit,
  versions.max_symbol_order_num,
  versions.max_product_order_num,
  versions.max_position_num,
  versions.buy_limit_price_ratio,
  versions.sell_limit_price_ratio,
  versions.fee_rate_up_ratio,
  versions.open_cost_up_ratio,
  versions.support_margin_coins,
  versions.launch_time,
  versions.open_time,
  versions.limit_open_time,
  versions.maintain_time,
  versions.delivery_period,
  versions.delivery_start_time,
  versions.delivery_time,
  versions.off_time
from (
  select
    contract_versions.*,
    lag(to_jsonb(contract_versions)) over (
      partition by product_type, symbol
      order by valid_from
    ) as before
  from contract_versions
) as versions;

comment on view analytics.contract_history is
  'Every version of a futures contract''s settings, with the changes from the version before. Versions begin with the first sync that read contracts. bill_contracts has the version that belongs to a bill.';
comment on column analytics.contract_history.product_type is 'USDT-FUTURES, COIN-FUTURES or USDC-FUTURES; for bills of a unified account the part after UTA-.';
comment on column analytics.contract_history.symbol is 'The contract, as bills name it.';
comment on column analytics.contract_history.symbol_status is 'Its trading status, as served.';
comment on column analytics.contract_history.min_trade_num is 'The smallest trade, in the base coin.';
comment on column analytics.contract_history.size_multiplier is 'Sizes are multiples of this, in the base coin.';
comment on column analytics.contract_history.volume_place is 'Decimals of a size.';
comment on column analytics.contract_history.price_place is 'Decimals of a price.';
comment on column analytics.contract_history.price_end_step is 'The last decimal of a price is a multiple of this.';
comment on column analytics.contract_history.max_order_qty is 'The largest limit order.';
comment on column analytics.contract_history.max_market_order_qty is 'The largest market order.';
comment on column analytics.contract_history.min_lever is 'The smallest leverage.';
comment on column analytics.contract_history.max_lever is 'The largest leverage.';
comment on column analytics.contract_history.pos_limit is 'The largest share of all positions that one position may have.';
comment on column analytics.contract_history.max_symbol_order_num is 'How many orders of this contract may be open.';
comment on column analytics.contract_history.max_product_order_num is 'How many orders of its product type may be open.';
comment on column analytics.contract_history.max_position_num is 'How many positions may be open.';
comment on column analytics.contract_history.fee_rate_up_ratio is 'By which share fees may increase.';
comment on column analytics.contract_history.open_cost_up_ratio is 'By which share the cost of opening may increase.';
comment on column analytics.contract_history.support_margin_coins is 'The coins that are accepted as margin, as a list.';
comment on column analytics.contract_history.launch_time is 'When it was listed.';
comment on column analytics.contract_history.limit_open_time is 'Since when no position may be opened.';
comment on column analytics.contract_history.maintain_time is 'When its maintenance is.';
comment on column analytics.contract_history.delivery_period is 'Which period a delivery contract belongs to.';
comment on column analytics.contract_history.delivery_start_time is 'When its delivery begins.';
comment on column analytics.contract_history.delivery_time is 'When it is delivered.';
