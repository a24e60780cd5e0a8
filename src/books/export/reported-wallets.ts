import { type SQL, sql } from "drizzle-orm";
import { isSelected, type Selection } from "../../accounts/roster.ts";
import {
  type ProductType,
  unifiedProductTypes,
  unifiedWallet,
  walletOf,
} from "../../core/contract/product-types.ts";
import type { Transaction } from "../../core/postgres/connect.ts";
import { textArray } from "../../core/postgres/values.ts";
import { readAccountStates, type StoredState } from "../../core/store/accounts/account-states.ts";
import { accountsOf, readKnownTimes } from "../../core/store/known-time.ts";
import { type Interval, intersect, interval } from "../../core/words/intervals.ts";
import type { KnownTime, Ledger } from "../../core/words/ledger.ts";
import { type EpochMs, epochMs, isoTime } from "../../lib/time.ts";

/** A wallet: it has one balance for each coin. */
export type ReportedWallet = {
  readonly account: string;
  /** The wallet's name: a product type, or "UTA" for all of a unified account. */
  readonly productType: string;
  /** The product types that were ever synced. */
  readonly productTypes: readonly ProductType[];
  /** In a unified account, the product types that the key may read but that were never synced. */
  readonly unread: readonly ProductType[];
  /** The exchange's time when a sync noticed that the account had changed its mode. */
  readonly endedAt: EpochMs | undefined;
};

/** Selects rows of the wallet by the bills' own product types. */
export const isBillOf = ({
  account,
  productTypes,
}: Pick<ReportedWallet, "account" | "productTypes">): SQL =>
  sql`account = ${account} and product_type = any(${textArray(productTypes)}::text[])`;

/** Selects rows of a period. @param column their time. */
export const isWithin = (column: SQL, { from, to }: Interval): SQL =>
  sql`${column} >= ${isoTime(from)}::timestamptz and ${column} < ${isoTime(to)}::timestamptz`;

/** What is known of the time of each of a wallet's product types. */
export async function readTimes(
  tx: Transaction,
  { account, productTypes }: Pick<ReportedWallet, "account" | "productTypes">,
): Promise<readonly KnownTime[]> {
  const ledgers = productTypes.map((productType) => ({ account, productType }));
  const known = await readKnownTimes(tx, ledgers);
  return ledgers.map((ledger) => known.of(ledger));
}

/** The time that is in all of the lists: a balance follows only where all of its product types were read. */
export const inAll = (lists: readonly (readonly Interval[])[]): readonly Interval[] =>
  lists.reduce(intersect, interval(0, Number.POSITIVE_INFINITY));

export type StoredLedger = Ledger & { readonly isStored: boolean };

/**
 * The wallets of the selected ledgers, each with all of its product types, even where only one category of
 * a unified account is selected: all categories share its balances.
 */
export async function readReportedWallets(
  tx: Transaction,
  ledgers: readonly StoredLedger[],
  selection: Partial<Selection>,
): Promise<readonly ReportedWallet[]> {
  const keyOf = ({ account, productType }: Ledger) =>
    JSON.stringify([account, walletOf(productType)]);
  const stored = ledgers.filter(({ isStored }) => isStored);
  const selected = stored.filter((ledger) => isSelected(selection, ledger));
  const wanted = new Set(selected.map(keyOf));
  const states = await readAccountStates(tx, accountsOf(selected));
  const byWallet = Map.groupBy(
    stored.filter((ledger) => wanted.has(keyOf(ledger))),
    keyOf,
  );
  return [...byWallet.values()].flatMap((ledgers) => {
    const [first] = ledgers;
    return first === undefined ? [] : [walletFrom(first, ledgers, states.of(first.account))];
  });
}

function walletFrom(
  { account, productType: first }: Ledger,
  ledgers: readonly Ledger[],
  { notAvailable, ended }: StoredState,
): ReportedWallet {
  const productType = walletOf(first);
  const productTypes = ledgers.map((ledger) => ledger.productType);
  const typesWithState = [...productTypes, ...notAvailable.map((refused) => refused.productType)];
  const all = productType === unifiedWallet ? unifiedProductTypes : productTypes;
  const walletEnds = ended.flatMap((one) =>
    walletOf(one.productType) === productType ? one.endedAt : [],
  );
  return {
    ...{ account, productType, productTypes },
    unread: all.filter((name) => !typesWithState.includes(name)),
    endedAt: walletEnds.length === 0 ? undefined : epochMs(Math.max(...walletEnds)),
  };
}
