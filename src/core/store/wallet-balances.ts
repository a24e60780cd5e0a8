import { type SQL, sql } from "drizzle-orm";
import { type EpochMs, isoTime, secondMs } from "../../lib/time.ts";
import {
  bookedMaxMsOf,
  unifiedProductTypes,
  unifiedWallet,
  type Wallet,
} from "../contract/product-types.ts";
import type { WalletBalance } from "../contract/wallet-balances.ts";
import type { Transaction } from "../postgres/connect.ts";
import { isOneOf, textArray, timeOf, timeText } from "../postgres/values.ts";
import { dayOf, nearestShown } from "../views/bill-sums.ts";
import { chainOrder } from "../views/chain-order.ts";

/** What a wallet held of each coin at the exchange's time `readAt`. */
export type BalancesCommit = {
  readonly wallet: Wallet;
  readonly readAt: EpochMs;
  readonly balances: readonly WalletBalance[];
};

/**
 * Whether a balance is another one than its bills'. They are compared to the fewer decimals of the two, and to at least
 * eight: an answer leaves zeros at the end out. Conversions of the exchange are off by one unit there.
 */
const differs = (balance: SQL, expected: SQL): SQL => sql`abs(${balance} - ${expected})
      > 10::numeric ^ -greatest(8, least(scale(${balance}), scale(${expected})))`;

/**
 * Stores what the exchange told of an account's wallets. A balance that stayed the same extends the time that it was held;
 * one of a coin without money is stored only after another one, or where bills say that there is some.
 */
export async function commitBalances(
  tx: Transaction,
  account: string,
  wallets: readonly BalancesCommit[],
): Promise<void> {
  if (wallets.length === 0) return;
  const unlisted = await readUnlisted(tx, account, wallets);
  const told = wallets.flatMap(({ wallet, readAt, balances }) =>
    [
      ...balances.flatMap(({ balance, ...one }) =>
        balance === null ? [] : [{ ...one, balance, isUnlisted: false }],
      ),
      ...unlisted.filter((one) => one.wallet === wallet),
    ].map((one) => ({ ...one, wallet, readAt: isoTime(readAt) })),
  );
  const column = (pick: (one: (typeof told)[number]) => string) => textArray(told.map(pick));
  await tx.execute(sql`
    insert into wallet_balances (
      account, wallet, coin, first_seen_at, last_seen_at, balance, may_differ
    )
    select
      ${account},
      wallet,
      coin,
      case when last.balance = told.balance and last.may_differ = told.may_differ
        then last.first_seen_at else told.read_at end,
      told.read_at,
      told.balance,
      told.may_differ
    from (
      select wallet, read_at, coin, balance, may_differ, is_unlisted
      from unnest(
        ${column(({ wallet }) => wallet)}::text[],
        ${column(({ readAt }) => readAt)}::timestamptz[],
        ${column(({ coin }) => coin)}::text[],
        ${column(({ balance }) => balance)}::numeric[],
        ${column(({ mayDiffer }) => String(mayDiffer))}::boolean[],
        ${column(({ isUnlisted }) => String(isUnlisted))}::boolean[]
      ) as answer (wallet, read_at, coin, balance, may_differ, is_unlisted)
    ) as told
    left join (
      select distinct on (wallet, coin)
        wallet,
        coin,
        first_seen_at,
        last_seen_at,
        balance,
        may_differ
      from wallet_balances
      where account = ${account}
        and wallet = any(${textArray(wallets.map(({ wallet }) => wallet))}::text[])
      order by wallet, coin, first_seen_at desc
    ) as last using (wallet, coin)
    where (told.balance <> 0 or last.balance is not null or told.is_unlisted)
      and coalesce(last.last_seen_at < told.read_at, true)
    on conflict (account, wallet, coin, first_seen_at) do update
    set last_seen_at = excluded.last_seen_at`);
}

/**
 * The coins that an answer leaves out, if an earlier one had them or the newest bills say that there are some: none are held
 * now. Whether answers have all coins, nobody has shown. Coins are known from the last check.
 */
async function readUnlisted(tx: Transaction, account: string, wallets: readonly BalancesCommit[]) {
  const selects = wallets.map(
    ({ wallet, readAt, balances }) => sql`
      select wallet, coin
      from (
        select wallet, coin, balance, ${balanceAt(account, { wallet, from: 0 })} as expected
        from (
          select wallet, coin, 0::numeric as balance, ${isoTime(readAt)}::timestamptz as at
          from reconciled_chains
          where account = ${account}
            and wallet = ${wallet}
            and coin <> all(${textArray(balances.map(({ coin }) => coin))}::text[])
        ) as told
      ) as found
      where ${differs(sql`balance`, sql`expected`)}
        or exists (
          select
          from wallet_balances as earlier
          where earlier.account = ${account}
            and earlier.wallet = found.wallet
            and earlier.coin = found.coin
        )`,
  );
  const { rows } = await tx.execute<{ wallet: Wallet; coin: string }>(
    sql.join(selects, sql` union all `),
  );
  return rows.map((row) => ({ ...row, balance: "0", mayDiffer: true, isUnlisted: true }));
}

// A bill of about the same time may have come before or after the balance was looked up.
const aboutMs = 5 * secondMs;

/** Of each wallet, the newest time that was read, up to where no more bills come. */
type Reconciled = ReadonlyMap<string, { readonly from: number; readonly to: number }>;

/** One statement of all wallets: each has constants of its own, by which the server finds its index. */
const ofEachWallet = (
  reconciled: Reconciled,
  rowsOf: (wallet: string, span: { readonly from: number; readonly to: number }) => SQL,
): SQL =>
  sql.join(
    [...reconciled].map(([wallet, span]) => rowsOf(wallet, span)),
    sql` union all `,
  );

/**
 * Compares the newest balances whose time is reconciled with the bills: with the balance of the last bill before, and with
 * those of bills of about the same time.
 */
export async function compareBalances(
  tx: Transaction,
  account: string,
  reconciled: Reconciled,
): Promise<void> {
  if (reconciled.size === 0) return;
  const { rows } = await tx.execute<
    Record<"wallet" | "coin" | "seenAt", string> & { expected: string | null }
  >(
    ofEachWallet(
      reconciled,
      (wallet, { from, to }) => sql`
      select
        ${wallet} as wallet,
        coin,
        ${timeText(sql`first_seen_at`)} as "seenAt",
        expected::text as expected
      from (
        select coin, first_seen_at, before, ${balanceAt(account, { wallet, from })} as expected
        from (
          select distinct on (coin)
            coin,
            balance,
            first_seen_at,
            expected as before,
            case when last_seen_at < ${timeOf(to)} then last_seen_at else first_seen_at end as at
          from wallet_balances
          where account = ${account}
            and wallet = ${wallet}
            and first_seen_at < ${timeOf(to)}
          order by coin, first_seen_at desc
        ) as told
      ) as found
      where before is distinct from expected`,
    ),
  );
  if (rows.length === 0) return;
  const column = (name: keyof (typeof rows)[number]) => textArray(rows.map((row) => row[name]));
  // By values: distributed Postgres refuses an update whose condition reckons with times.
  await tx.execute(sql`
      update wallet_balances
      set expected = found.expected
      from unnest(
        ${column("wallet")}::text[],
        ${column("coin")}::text[],
        ${column("seenAt")}::timestamptz[],
        ${column("expected")}::numeric[]
      ) as found (wallet, coin, first_seen_at, expected)
      where account = ${account}
        and wallet_balances.wallet = found.wallet
        and wallet_balances.coin = found.coin
        and wallet_balances.first_seen_at = found.first_seen_at`);
}

/** A balance that the exchange told, and the other one that follows from the bills. */
export type DifferingBalance = {
  readonly wallet: string;
  readonly coin: string;
  readonly balance: string;
  readonly expected: string;
};

/** The newest balances of time that is not settled yet, where they differ from the newest bills: the bills may still come. */
export async function unsettledDifferences(
  tx: Transaction,
  account: string,
  reconciled: Reconciled,
): Promise<readonly DifferingBalance[]> {
  if (reconciled.size === 0) return [];
  const { rows } = await tx.execute<DifferingBalance>(
    sql`${ofEachWallet(
      reconciled,
      (wallet, { from, to }) => sql`
      select ${wallet} as wallet, coin, balance::text as balance, expected::text as expected
      from (
        select coin, balance, ${balanceAt(account, { wallet, from })} as expected
        from (
          select distinct on (coin) coin, balance, first_seen_at, last_seen_at as at, may_differ
          from wallet_balances
          where account = ${account}
            and wallet = ${wallet}
          order by coin, first_seen_at desc
        ) as told
        where at >= ${timeOf(to)}
          and not may_differ
      ) as found
      where ${differs(sql`balance`, sql`expected`)}`,
    )}
      order by wallet, coin`,
  );
  return rows;
}

type OfWallet = {
  readonly wallet: string;
  /** Since when all was read: an older bill says nothing. */
  readonly from: number;
};

/**
 * Of a row `told` with its coin, balance and time `at`: the balance that follows from the bills at that time, or that of a
 * bill of about that time which is the told one; null where no bill says.
 */
function balanceAt(account: string, { wallet, from }: OfWallet): SQL {
  const isUnified = wallet === unifiedWallet;
  const about = sql`${bookedMaxMsOf(wallet) || aboutMs} * interval '1 ms'`;
  const productTypes = sql`${textArray(isUnified ? unifiedProductTypes : [wallet])}::text[]`;
  const before = sql`(told.at - ${about})`;
  const isBefore = sql`${dayOf("bills")} <= (${before} at time zone 'UTC')::date and bills.c_time < ${before}`;
  return sql`(
    with known as (${nearestShown(sql`desc`, isBefore, { account: sql`${account}`, productTypes, coin: sql`told.coin` })}
    ),
    recent as (
      select account, product_type, bill_id, c_time, balance
      from bills
      where account = ${account}
        and product_type = any(${productTypes})
        and coin = told.coin
        and c_time >= (select c_time - ${about} from known)
        and c_time < told.at + ${about}
        and c_time >= ${timeOf(from)}
    ),
    last as (
      select max(c_time) as c_time
      from recent
      where c_time < ${before}
    )
    select recent.balance
    from recent
    where recent.c_time >= (select c_time from last)
    order by
      not ${differs(sql`told.balance`, sql`recent.balance`)} desc nulls first,
      recent.c_time <= told.at desc,
      row(${chainOrder("recent")}) desc
    limit 1
  )`;
}

/**
 * The newest balance of each wallet and coin that was compared, with whether it differs, as `compared`.
 * @param since then the first one that was held at that time or later.
 */
export const comparedBalances = (
  accounts: readonly string[] | undefined,
  since?: EpochMs,
): SQL => sql`(
      select distinct on (account, wallet, coin)
        account,
        wallet,
        coin,
        first_seen_at,
        last_seen_at,
        balance,
        expected,
        may_differ,
        ${differs(sql`balance`, sql`expected`)} as differs
      from wallet_balances
      where expected is not null
        and ${isOneOf(accounts)}
        and ${since === undefined ? sql`true` : sql`last_seen_at >= ${timeOf(since)}`}
      order by account, wallet, coin, first_seen_at ${since === undefined ? sql`desc` : sql`asc`}
    ) as compared`;
