update ledgers
set tax_comparison = replace(tax_comparison::text, '"unrecovered"', '"partlyRecovered"')::json
where tax_comparison -> 'unrecovered' is not null;
