import { type SQL, sql } from "drizzle-orm";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { walletOf } from "../db/sql/wallet.ts";
import type { Wallet } from "./selection.ts";

/** The coins of the requested account: all that can be selected without changing the account. */
export async function readWallets(
  db: Queryable,
  asked: URLSearchParams,
): Promise<readonly Wallet[]> {
  const account = await chooseAccount(db, asked);
  return account === undefined ? [] : walletsOf(db, account);
}

/**
 * The requested account, or one whose name contains the requested text. Otherwise the account of
 * the largest ledger, by preference one of the requested product, of real money, and still read.
 */
async function chooseAccount(db: Queryable, asked: URLSearchParams): Promise<string | undefined> {
  const [account, product] = [asked.get("account") || null, asked.get("product")];
  const { rows } = await withDatabaseErrors(() =>
    db.execute<{ account: string }>(sql`
      select account
      from (
        select account, ${walletOf("product_type")} as wallet, bills, ${isEnded(sql`streams.account`, walletOf("streams.product_type"))} as is_ended, ${isDemo(sql`streams.account`, sql`product_type`)} as is_demo
        from streams
        where bills > 0
      ) as ledgers
      group by account, wallet
      order by
        account is not distinct from ${account}::text desc,
        coalesce(strpos(lower(account), lower(${account}::text)), 0) > 0 desc,
        wallet is not distinct from ${product}::text desc,
        bool_and(is_demo),
        bool_and(is_ended),
        sum(bills) desc,
        account
      limit 1`),
  );
  return rows[0]?.account;
}

/**
 * Whether syncs no longer read the wallet: it is retired, or its account changed to the other kind.
 */
const isEnded = (account: SQL, wallet: SQL): SQL => sql`exists (
          select 1
          from stream_states
          where stream_states.account = ${account}
            and (
              (retired_at is not null and stream_states.product_type in ('', ${wallet}))
              or (closed_at is not null and ${walletOf("stream_states.product_type")} = ${wallet})
            )
        )`;

/** Whether the wallet is of demo trading: of a demo product, or of an account with a key for it. */
const isDemo = (account: SQL, wallet: SQL): SQL => sql`(
          ${wallet} ~ '^S\\w+-FUTURES$'
          or exists (
            select 1
            from stream_states
            where stream_states.account = ${account}
              and stream_states.product_type = ''
              and stream_states.is_demo
          )
        )`;

// While a first sync reads a wallet, no day of it is stored yet. Its coins are taken from this many
// of its newest bills.
const newestBills = 10_000;

async function walletsOf(db: Queryable, account: string): Promise<readonly Wallet[]> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{
      account: string;
      product: string;
      coin: string;
      bills: string;
      isEnded: boolean;
      isDemo: boolean;
    }>(sql`
      with stored as (
        select
          account,
          wallet,
          coin,
          sum(bills) as bills
        from ledger_days
        where account = ${account}
        group by account, wallet, coin
      ),
      fresh as (
        select distinct streams.account, streams.product_type
        from streams
        where account = ${account}
          and bills > 0
          and not exists (
            select 1
            from stored
            where stored.wallet = ${walletOf("product_type")}
          )
      ),
      wallets as (
        select account, wallet as product, coin, bills
        from stored
        union all
        select
          fresh.account,
          ${walletOf("product_type")},
          coin,
          sum(newest.bills)
        from fresh
        cross join lateral (
          select coin, count(*) as bills
          from (
            select coin
            from bills
            where bills.account = ${account}
              and bills.product_type = fresh.product_type
            order by c_time desc
            limit ${newestBills}
          ) as newest
          group by coin
        ) as newest
        group by 1, 2, 3
      )
      select
        account,
        product,
        coin,
        bills,
        ${isEnded(sql`wallets.account`, sql`wallets.product`)} as "isEnded",
        ${isDemo(sql`wallets.account`, sql`wallets.product`)} as "isDemo"
      from wallets
      order by account, product, bills desc, coin`);
    return rows.map((row) => ({ ...row, bills: Number(row.bills) }));
  });
}

/** The names of accounts that have bills, in order, at most `most`. */
export async function readAccountNames(db: Queryable, most: number): Promise<readonly string[]> {
  const { rows } = await withDatabaseErrors(() =>
    db.execute<{ account: string }>(sql`
      select distinct account
      from streams
      where bills > 0
      order by account
      limit ${most}`),
  );
  return rows.map(({ account }) => account);
}

export type CoinName = Pick<Wallet, "account" | "product" | "coin">;

/**
 * The coins of all wallets that have stored days, in order. A recursive query skips from coin to
 * coin: with 20,000 accounts of ten days each, it takes a tenth of the time of reading every day.
 * @param isDistributed whether the rows are on several nodes. Each then reads every day of its own,
 * because recursive queries of several nodes are refused.
 */
export async function readCoinNames(
  db: Queryable,
  { isDistributed }: { readonly isDistributed: boolean },
): Promise<readonly CoinName[]> {
  if (isDistributed) return readCoinsOfDays(db);
  const nextAfter = (place: SQL) => sql`
        select account, wallet, coin
        from ledger_days
        ${place}
        order by account, wallet, coin
        limit 1`;
  const { rows } = await withDatabaseErrors(() =>
    db.execute<CoinName>(sql`
      with recursive names as (
        (${nextAfter(sql``)})
        union all
        select next.account, next.wallet, next.coin
        from names
        cross join lateral (${nextAfter(sql`
        where (account, wallet, coin) > (names.account, names.wallet, names.coin)`)}
        ) as next
      )
      select account, wallet as product, coin
      from names`),
  );
  return rows;
}

async function readCoinsOfDays(db: Queryable): Promise<readonly CoinName[]> {
  const { rows } = await withDatabaseErrors(() =>
    db.execute<CoinName>(sql`
      select distinct account, wallet as product, coin
      from ledger_days
      order by account, product, coin`),
  );
  return rows;
}
