import { sql } from "drizzle-orm";
import type { Queryable } from "../../core/postgres/connect.ts";
import { msOf, timeFrom } from "../../core/postgres/values.ts";
import { comparedBalances } from "../../core/store/wallet-balances.ts";
import { type EpochMs, epochMs } from "../../lib/time.ts";
import { formatMinute } from "../../output/text.ts";

/** A wallet's balance by the exchange, compared with that of its bills. Decimals are text. */
export type ComparedBalance = {
  readonly account: string;
  /** The wallet; "UTA" in a unified account. */
  readonly ledger: string;
  readonly coin: string;
  readonly balance: string;
  /** The balance that follows from the bills. */
  readonly expected: string;
  readonly differs: boolean;
  /** The exchange's time when it said so last, or the time that the caller asked about, if the balance held then. */
  readonly asOf: EpochMs;
};

/** The newest ones. @param since instead the first ones that were held at that time or later. */
export async function readComparedBalances(
  db: Queryable,
  accounts: readonly string[] | undefined,
  since?: EpochMs,
): Promise<readonly ComparedBalance[]> {
  const { rows } = await db.execute<
    Omit<ComparedBalance, "asOf"> & Record<"first_seen_at" | "last_seen_at", string>
  >(sql`
    select
      account,
      wallet as ledger,
      coin,
      balance::text,
      expected::text,
      differs,
      ${msOf(sql`first_seen_at`)} as first_seen_at,
      ${msOf(sql`last_seen_at`)} as last_seen_at
    from ${comparedBalances(accounts, since)}
    order by account, ledger, coin`);
  return rows.map(({ first_seen_at, last_seen_at, ...row }) => ({
    ...row,
    asOf:
      since === undefined
        ? timeFrom(last_seen_at)
        : epochMs(Math.max(timeFrom(first_seen_at), since)),
  }));
}

/** The balance in a sentence. */
export const balanceText = ({ coin, balance, expected, differs, asOf }: ComparedBalance): string =>
  differs
    ? `the exchange says ${balance} ${coin} at ${formatMinute(asOf)}, and the bills ${expected}`
    : `the exchange confirms the bills: ${balance} ${coin} at ${formatMinute(asOf)}`;
