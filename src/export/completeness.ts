import { sql } from "drizzle-orm";
import { type EpochMs, epochMs } from "../contract/time.ts";
import { readAccountStates } from "../db/accounts/account-states.ts";
import type { Transaction } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { isOneOf } from "../db/sql/one-of.ts";
import { walletOf } from "../db/sql/wallet.ts";
import { accountsOf, readKnownTimes } from "../ledger/known-time.ts";
import { type Interval, interval, subtract } from "../sync/intervals.ts";
import type { KnownTime, Stream } from "../sync/store.ts";
import { type BillSelection, isSelected } from "./read-bills.ts";

/** What is known of the time of a stream that is exported. */
export type ExportedTime = {
  readonly stream: Stream;
  /**
   * Up to when the stream is covered; undefined before its first complete window. For a closed stream, when
   * it was closed, since it gets no more bills.
   */
  readonly through: EpochMs | undefined;
  readonly isClosed: boolean;
  /** Time of the export that is not proven complete. */
  readonly holes: readonly Interval[];
};

export async function readExportedTimes(
  tx: Transaction,
  streams: readonly Stream[],
  selection: BillSelection,
  now: EpochMs,
): Promise<readonly ExportedTime[]> {
  const states = await readAccountStates(tx, accountsOf(streams));
  const times = await withDatabaseErrors(() => readKnownTimes(tx, streams));
  return streams.map((stream) => {
    const known = times.of(stream);
    const { account, productType } = stream;
    const closedAt = states
      .of(account)
      .closed.find((closed) => closed.productType === productType)?.closedAt;
    return {
      stream,
      through: closedAt ?? known.coverage.at(-1)?.to,
      isClosed: closedAt !== undefined,
      holes: holesIn(known, upTo(selection, closedAt), now),
    };
  });
}

/** The selected time, cut at the stream's closing: there is nothing to read after that. */
const upTo = (
  { from, to }: Pick<BillSelection, "from" | "to">,
  closedAt: EpochMs | undefined,
): Pick<BillSelection, "from" | "to"> =>
  closedAt === undefined ? { from, to } : { from, to: epochMs(Math.min(to ?? closedAt, closedAt)) };

/**
 * The parts of the selected time that are not proven complete. Without `from`, the time begins with the
 * oldest known window. Without `to`, it ends where coverage does: such an export leaves out the newest
 * minutes.
 */
export function holesIn(
  { coverage, lost, open }: Pick<KnownTime, "coverage" | "lost" | "open">,
  { from, to }: Pick<BillSelection, "from" | "to">,
  now: EpochMs,
): readonly Interval[] {
  const times = [...coverage, ...lost, ...open.map(({ window }) => window)];
  const start = from ?? Math.min(...times.map((time) => time.from), now);
  const end = to ?? coverage.at(-1)?.to ?? now;
  return subtract(interval(start, epochMs(end)), coverage);
}

/**
 * The streams with selected bills that no `reconcile` has checked since they were stored, or since one of
 * their types was mapped. Their order within a millisecond, and what they move, may not be known yet.
 */
export async function readUnreconciled(
  tx: Transaction,
  selection: BillSelection,
): Promise<readonly Stream[]> {
  const { rows } = await withDatabaseErrors(() =>
    tx.execute<Stream>(sql`
      select bills.account, bills.product_type as "productType"
      from bills
      left join (
        select account, wallet, coin, checked_before
        from reconciled_chains
        where ${isOneOf(selection.accounts)}
      ) as chains
        on chains.account = bills.account
        and chains.wallet = ${walletOf("bills.product_type")}
        and chains.coin = bills.coin
      where ${isSelected(selection)}
        and (
          chains.account is null
          or ingested_at >= checked_before
        )
      group by bills.account, bills.product_type
      order by bills.account, bills.product_type`),
  );
  return rows;
}
