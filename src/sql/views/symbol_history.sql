create or replace view analytics.symbol_history as
select
  versions.symbol,
  versions.valid_from,
  versions.valid_to,
  array(
    select fields.name
    from jsonb_each_text(to_jsonb(versions)) as fields (name, value)
    where fields.name not in ('symbol', 'valid_from', 'valid_to', 'before')
      and versions.before is not null
      and fields.value is distinct from versions.before ->> fields.name
    order by fields.name
  ) as changed,
  versions.base_coin,
  versions.quote_coin,
  versions.status,
  versions.maker_fee_rate,
  versions.taker_fee_rate,
  versions.min_trade_amount,
  versions.max_trade_amount,
  versions.min_trade_usdt,
  versions.price_precision,
  versions.quantity_precision,
  versions.quote_precision,
  versions.buy_limit_price_ratio,
  versions.sell_limit_price_ratio,
  versions.area_symbol,
  versions.order_quantity,
  versions.open_time,
  versions.off_time
from (
  select
    symbol_versions.*,
    lag(to_jsonb(symbol_versions)) over (partition by symbol order by valid_from) as before
  from symbol_versions
) as versions;

comment on view analytics.symbol_history is
  'Every version of a spot pair''s settings, with the changes from the version before. Futures contracts, which bills name, are not included: they have other fee rates, in contract_history.';
comment on column analytics.symbol_history.symbol is 'The spot pair. A futures contract may have the same name and other settings.';
comment on column analytics.symbol_history.status is 'The trading status of the pair, as served.';
comment on column analytics.symbol_history.maker_fee_rate is 'The rate of the spot pair, as a share: 0.001 is 0.1 %. A futures contract of that name has another rate: see bill_contracts.';
comment on column analytics.symbol_history.taker_fee_rate is 'The rate of the spot pair, as a share: 0.001 is 0.1 %. A futures contract of that name has another rate: see bill_contracts.';
comment on column analytics.symbol_history.min_trade_amount is 'The smallest trade, in the base coin.';
comment on column analytics.symbol_history.max_trade_amount is 'The largest trade, in the base coin.';
comment on column analytics.symbol_history.price_precision is 'Decimals of a price.';
comment on column analytics.symbol_history.quantity_precision is 'Decimals of a quantity in the base coin.';
comment on column analytics.symbol_history.quote_precision is 'Decimals of a quantity in the quote coin.';
comment on column analytics.symbol_history.area_symbol is 'Whether the pair is in the exchange''s special zone, as served.';
comment on column analytics.symbol_history.order_quantity is 'How many orders may be open.';
