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
  'Every version of a spot pair''s settings, with what changed against the one before. Not those of the futures contracts that bills name: their fee rates are others, and are in contract_history.';
comment on column analytics.symbol_history.symbol is 'The spot pair. A futures contract may have the same name and other settings.';
comment on column analytics.symbol_history.valid_from is 'Since when the version was seen to hold.';
comment on column analytics.symbol_history.valid_to is 'Until when; null while it holds.';
comment on column analytics.symbol_history.changed is 'The columns that changed against the version before; empty for the first.';
comment on column analytics.symbol_history.base_coin is 'The coin that is traded.';
comment on column analytics.symbol_history.quote_coin is 'The coin that prices are in.';
comment on column analytics.symbol_history.status is 'Whether the pair trades, as the exchange says it.';
comment on column analytics.symbol_history.maker_fee_rate is 'Of the spot pair, as a share: 0.001 is 0.1 %. Not the rate of a futures contract of that name: see bill_contracts.';
comment on column analytics.symbol_history.taker_fee_rate is 'Of the spot pair, as a share: 0.001 is 0.1 %. Not the rate of a futures contract of that name: see bill_contracts.';
comment on column analytics.symbol_history.min_trade_amount is 'In the base coin.';
comment on column analytics.symbol_history.max_trade_amount is 'In the base coin.';
comment on column analytics.symbol_history.min_trade_usdt is 'In USDT.';
comment on column analytics.symbol_history.price_precision is 'Decimals of a price.';
comment on column analytics.symbol_history.quantity_precision is 'Decimals of a quantity in the base coin.';
comment on column analytics.symbol_history.quote_precision is 'Decimals of a quantity in the quote coin.';
comment on column analytics.symbol_history.buy_limit_price_ratio is 'How far a buy may be off the market, as a share.';
comment on column analytics.symbol_history.sell_limit_price_ratio is 'How far a sell may be off it.';
comment on column analytics.symbol_history.area_symbol is 'Whether it is in the exchange''s special zone, as served.';
comment on column analytics.symbol_history.order_quantity is 'How many orders may be open.';
comment on column analytics.symbol_history.open_time is 'When trading began or begins.';
comment on column analytics.symbol_history.off_time is 'When it ends; null where no end is set.';
