import { sql } from "drizzle-orm";
import type { Transaction } from "../../../core/postgres/connect.ts";
import { isOneOf } from "../../../core/postgres/values.ts";
import { withAnyBalance } from "../../../core/views/bill-sums.ts";
import { accountFlags } from "../../../core/views/ledgers.ts";
import { walletColumn } from "../../../core/views/wallet-moves.ts";
import type { EpochMs } from "../../../lib/time.ts";
import {
  type Asked,
  askedIn,
  missedIn,
  type PageQuery,
  selectionOf,
  type Wallet,
} from "./selection.ts";

// Nobody chooses from a longer list: a reader types part of a name.
const listedAccounts = 20;

export type Wallets = {
  /** All of them where there are few accounts; otherwise those of the account that was asked for. */
  readonly wallets: readonly Wallet[];
  /** How many accounts have bills. */
  readonly accounts: number;
};

/** What an address selects of what is stored. */
export type Selected = Wallets & {
  readonly selection: PageQuery;
  /** What it asks for and does not exist: see {@link missedIn}. */
  readonly missed: readonly string[];
};

/** @returns undefined if no wallet is stored. */
export async function readPageQuery(
  tx: Transaction,
  query: Asked,
  now: EpochMs,
): Promise<Selected | undefined> {
  const asked = askedIn(query);
  const wallets = await readWallets(tx, asked);
  const selection = selectionOf(asked, wallets.wallets, now);
  return selection && { ...wallets, selection, missed: missedIn(asked, selection) };
}

/** The wallets that can be selected, those of one account together. */
async function readWallets(tx: Transaction, asked: Asked): Promise<Wallets> {
  const name = asked.get("account") ?? "";
  const { rows } = await tx.execute<{ account: string; accounts: string }>(sql`
    select account, count(*) over () as accounts
    from (
      select account, sum(bills) as bills, bool_and(${isOver}) as is_ended
      from ledgers
      left join ${accountFlags(sql`true`)} using (account)
      where bills > 0
      group by account
    ) as stored
    order by
      account = ${name} desc,
      ${name} <> '' and strpos(lower(account), lower(${name})) > 0 desc,
      is_ended,
      bills desc,
      account
    limit ${listedAccounts}`);
  const accounts = Number(rows[0]?.accounts ?? 0);
  const listed = rows.slice(0, accounts > listedAccounts ? 1 : listedAccounts);
  return {
    accounts,
    wallets: await walletsOf(
      tx,
      listed.map(({ account }) => account),
    ),
  };
}

const isOver = sql`(coalesce(ledgers.retired_at, ended_at) is not null or coalesce(is_retired, false))`;

// The wallet with the most bills is shown first. Counting a million takes 70 ms, so a coin with more bills than this counts as
// all of its ledger.
const countedMax = 10_000;

async function walletsOf(tx: Transaction, accounts: readonly string[]): Promise<readonly Wallet[]> {
  const { rows } = await tx.execute<Wallet>(sql`
    select
      account,
      ${walletColumn("product_type")} as product,
      coin,
      sum(case when counted < ${countedMax} then counted else bills end)::float8 as bills
    from (
      select
        account,
        product_type,
        coin,
        ledgers.bills,
        (
          select count(*)
          from (
            select 1
            from bills
            where bills.account = ledger_coins.account
              and bills.product_type = ledger_coins.product_type
              and bills.coin = ledger_coins.coin
              and ${withAnyBalance("bills")}
            limit ${countedMax}
          ) as looked
        ) as counted
      from ledger_coins
      join ledgers using (account, product_type)
      where ${isOneOf(accounts)}
    ) as coins
    group by 1, 2, 3
    order by account, product, 4 desc, coin`);
  return rows;
}
