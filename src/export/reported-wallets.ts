import { sql } from "drizzle-orm";
import {
  type ProductType,
  unifiedProductTypes,
  unifiedWallet,
  walletOf,
} from "../contract/product-types.ts";
import { type EpochMs, epochMs } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { isOneOf } from "../db/sql/one-of.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";
import { accountsOf } from "../ledger/known-time.ts";
import type { Stream } from "../sync/store.ts";

/** A wallet: it has one balance for each coin. */
export type ReportedWallet = {
  readonly account: string;
  /** The wallet's name: a product type, or "UTA" for all of a unified account. */
  readonly productType: string;
  readonly isDemo: boolean;
  /** The product types that were ever synced. */
  readonly productTypes: readonly ProductType[];
  /** In a unified account, the product types that the key may read but that were never synced. */
  readonly unread: readonly ProductType[];
  /** The exchange's time when a sync noticed that the account had changed its mode. */
  readonly closedAt: EpochMs | undefined;
};

type StoredLedger = Stream & { readonly isDemo: boolean };
type State = Stream & { readonly isRefused: boolean; readonly closedAt: EpochMs | undefined };

/**
 * The wallets of the selected streams, each with all of its product types, even where only one category of
 * a unified account is selected: all categories share its balances.
 */
export async function readReportedWallets(
  tx: Transaction,
  stored: readonly StoredLedger[],
  isWanted: (stream: Stream) => boolean,
): Promise<readonly ReportedWallet[]> {
  const keyOf = ({ account, productType }: Stream) =>
    JSON.stringify([account, walletOf(productType)]);
  const wanted = new Set(stored.filter(isWanted).map(keyOf));
  const accounts = accountsOf(stored.filter(isWanted));
  const states = Map.groupBy(await readStates(tx, accounts), ({ account }) => account);
  const byWallet = Map.groupBy(
    stored.filter((stream) => wanted.has(keyOf(stream))),
    keyOf,
  );
  return [...byWallet.values()].flatMap((streams) => {
    const [first] = streams;
    if (first === undefined) return [];
    return [walletFrom(first, streams, states.get(first.account) ?? [])];
  });
}

function walletFrom(
  { account, productType: first, isDemo }: StoredLedger,
  streams: readonly Stream[],
  own: readonly State[],
): ReportedWallet {
  const productType = walletOf(first);
  const productTypes = streams.map((stream) => stream.productType);
  const isRefused = (name: ProductType) =>
    own.some((state) => state.productType === name && state.isRefused);
  const closings = own
    .filter((state) => walletOf(state.productType) === productType)
    .flatMap(({ closedAt }) => closedAt ?? []);
  const all = productType === unifiedWallet ? unifiedProductTypes : productTypes;
  return {
    account,
    productType,
    isDemo,
    productTypes,
    unread: all.filter((name) => !productTypes.includes(name) && !isRefused(name)),
    closedAt: closings.length === 0 ? undefined : epochMs(Math.max(...closings)),
  };
}

async function readStates(tx: Transaction, accounts: readonly string[]): Promise<readonly State[]> {
  const { rows } = await tx.execute<{
    account: string;
    product_type: ProductType;
    is_refused: boolean;
    closed_at: string | null;
  }>(sql`
    select
      account,
      product_type,
      not_available_since is not null as is_refused,
      ${msOf(sql`closed_at`)} as closed_at
    from streams
    where coalesce(not_available_since, closed_at) is not null
      and ${isOneOf(accounts)}`);
  return rows.map((row) => ({
    account: row.account,
    productType: row.product_type,
    isRefused: row.is_refused,
    closedAt: timeFrom(row.closed_at),
  }));
}
