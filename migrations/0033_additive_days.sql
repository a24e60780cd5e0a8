CREATE TABLE "day_ends" (
	"account" text COLLATE "C" NOT NULL,
	"wallet" text COLLATE "C" NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"day" date NOT NULL,
	"is_last" boolean NOT NULL,
	"booked_at" timestamp (3) with time zone NOT NULL,
	"place" integer NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"bill_id" text COLLATE "C" NOT NULL,
	"business_type" text COLLATE "C" NOT NULL,
	"amount" numeric NOT NULL,
	"fee" numeric NOT NULL,
	"fee_by_coupon" numeric,
	"balance" numeric,
	CONSTRAINT "day_ends_account_wallet_coin_day_is_last_pk" PRIMARY KEY("account","wallet","coin","day","is_last")
);
--> statement-breakpoint
CREATE TABLE "symbol_type_days" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"day" date NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"symbol" text COLLATE "C" NOT NULL,
	"business_type" text COLLATE "C" NOT NULL,
	"bills" bigint NOT NULL,
	"amount_in" numeric NOT NULL,
	"amount_out" numeric NOT NULL,
	"apart_in" numeric NOT NULL,
	"apart_out" numeric NOT NULL,
	"fee_in" numeric NOT NULL,
	"fee_out" numeric NOT NULL,
	"coupon" numeric NOT NULL,
	"amount_bills" bigint NOT NULL,
	"apart_bills" bigint NOT NULL,
	"fee_bills" bigint NOT NULL,
	"moving_bills" bigint NOT NULL,
	CONSTRAINT "symbol_type_days_pk" PRIMARY KEY("account","product_type","day","coin","symbol","business_type")
);
--> statement-breakpoint
CREATE TABLE "type_days" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"day" date NOT NULL,
	"business_type" text COLLATE "C" NOT NULL,
	"bills" bigint NOT NULL,
	"amount_in" numeric NOT NULL,
	"amount_out" numeric NOT NULL,
	"apart_in" numeric NOT NULL,
	"apart_out" numeric NOT NULL,
	"fee_in" numeric NOT NULL,
	"fee_out" numeric NOT NULL,
	"coupon" numeric NOT NULL,
	"unshown" bigint NOT NULL,
	"with_extra" bigint NOT NULL,
	"odd_ids" bigint NOT NULL,
	"first_at" timestamp (3) with time zone NOT NULL,
	"last_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "type_days_account_product_type_coin_day_business_type_pk" PRIMARY KEY("account","product_type","coin","day","business_type")
);
--> statement-breakpoint
-- The days of the bills that are stored already: see src/db/days/day-sums.ts and day-ends.ts.
insert into "type_days" (account, product_type, coin, day, business_type, bills, amount_in, amount_out, apart_in, apart_out, fee_in, fee_out, coupon, unshown, with_extra, odd_ids, first_at, last_at)
select bills.account, bills.product_type as product_type, bills.coin as coin, (bills.c_time at time zone 'UTC')::date as day, bills.business_type as business_type, count(*) as bills, coalesce(sum(bills.amount) filter (where bills.amount > 0), 0) as amount_in, coalesce(sum(bills.amount) filter (where bills.amount < 0), 0) as amount_out, coalesce(sum((bills.amount - bills.fee)) filter (where (bills.amount - bills.fee) > 0), 0) as apart_in, coalesce(sum((bills.amount - bills.fee)) filter (where (bills.amount - bills.fee) < 0), 0) as apart_out, coalesce(sum(bills.fee) filter (where bills.fee > 0), 0) as fee_in, coalesce(sum(bills.fee) filter (where bills.fee < 0), 0) as fee_out, coalesce(sum(bills.fee_by_coupon), 0) as coupon, count(*) filter (where bills.balance is null) as unshown, count(*) filter (where bills.extra is not null) as with_extra, count(*) filter (where (
    octet_length(bills.bill_id) <> case
when bills.c_time >= timestamptz '2023-01-19T16:08:19.779Z' then 19
else octet_length((((date_part('epoch', bills.c_time) * 1000)::bigint - 1435725920677) << 22)::text)
    end
    or bills.bill_id not between
(((date_part('epoch', bills.c_time) * 1000)::bigint - 1435725920677) << 22)::text
and ((((date_part('epoch', bills.c_time) * 1000)::bigint - 1435725920677) + case when bills.product_type like 'UTA-%' then 60000 else 0 end << 22) + 4194303)::text
  )) as odd_ids, min(bills.c_time) as first_at, max(bills.c_time) as last_at
from bills
group by bills.account, 2, 3, 4, 5;
--> statement-breakpoint
insert into "symbol_type_days" (account, product_type, day, coin, symbol, business_type, bills, amount_in, amount_out, apart_in, apart_out, fee_in, fee_out, coupon, amount_bills, apart_bills, fee_bills, moving_bills)
select bills.account, bills.product_type as product_type, (bills.c_time at time zone 'UTC')::date as day, bills.coin as coin, coalesce(bills.symbol, '') as symbol, bills.business_type as business_type, count(*) as bills, coalesce(sum(bills.amount) filter (where bills.amount > 0), 0) as amount_in, coalesce(sum(bills.amount) filter (where bills.amount < 0), 0) as amount_out, coalesce(sum((bills.amount - bills.fee)) filter (where (bills.amount - bills.fee) > 0), 0) as apart_in, coalesce(sum((bills.amount - bills.fee)) filter (where (bills.amount - bills.fee) < 0), 0) as apart_out, coalesce(sum(bills.fee) filter (where bills.fee > 0), 0) as fee_in, coalesce(sum(bills.fee) filter (where bills.fee < 0), 0) as fee_out, coalesce(sum(bills.fee_by_coupon), 0) as coupon, count(*) filter (where bills.amount <> 0) as amount_bills, count(*) filter (where bills.amount <> bills.fee) as apart_bills, count(*) filter (where bills.fee <> 0 or bills.fee_by_coupon <> 0) as fee_bills, count(*) filter (where bills.amount <> 0 or bills.fee <> 0 or bills.fee_by_coupon <> 0) as moving_bills
from bills
group by bills.account, 2, 3, 4, 5, 6;
--> statement-breakpoint
insert into "day_ends" (account, wallet, coin, day, is_last, booked_at, place, product_type, bill_id, business_type, amount, fee, fee_by_coupon, balance)
select account, wallet, coin, day, is_last, booked_at, place, product_type, bill_id, business_type, amount, fee, fee_by_coupon, balance
from (
  select
    placed.*,
    lag(bill_id) over chain is null as is_day_first,
    lead(bill_id) over chain is null as is_day_last
  from (
    select
      bills.account,
      (case when bills.product_type like 'UTA-%' then 'UTA' else bills.product_type end) as wallet,
      bills.coin,
      (bills.c_time at time zone 'UTC')::date as day,
      greatest(bills.c_time, bill_order.booked_at) as booked_at,
      coalesce(bill_order.place, 0) as place,
      bills.product_type,
      bills.bill_id,
      bills.business_type,
      bills.amount,
      bills.fee,
      bills.fee_by_coupon,
      bills.balance
    from bills
    left join bill_order
      on bill_order.account = bills.account
      and bill_order.product_type = bills.product_type
      and bill_order.bill_id = bills.bill_id
  ) as placed
  window chain as (partition by account, wallet, coin, day order by booked_at, place, length(bill_id), bill_id, product_type)
) as ordered
cross join (values (false), (true)) as ends (is_last)
where case when is_last then is_day_last else is_day_first end;
