import { sql } from "drizzle-orm";
import {
  boolean,
  check,
  json,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  text,
  unique,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import type { z } from "zod";
import { contractFields } from "../../contract/contracts.ts";
import { optionalDecimal, optionalEpochMs, optionalText } from "../../contract/scalars.ts";
import { symbolFields } from "../../contract/symbols.ts";
import { allFinite, ledger, textKey, time } from "./columns.ts";

const snakeCase = (field: string): string =>
  field.replaceAll(/[A-Z]+/g, (letters) => `_${letters.toLowerCase()}`);

/** A column for each field of a record, under the name that the field has in the API, and one for others. */
const settingsOf = ({ symbol: _, ...fields }: Readonly<Record<string, z.ZodType>>) => ({
  ...Object.fromEntries(
    Object.entries(fields).map(([field, type]) => [field, columnOf(snakeCase(field), type)]),
  ),
  extra: json("extra"),
});

/** A list of names is JSON. */
const columnOf = (name: string, type: z.ZodType) => {
  if (type === optionalDecimal) return numeric(name);
  if (type === optionalText) return text(name);
  return type === optionalEpochMs ? time(name) : jsonb(name);
};

/** A spot pair's settings as last served; `gone_at` if it is no longer listed. Times are the exchange's. */
export const spotPairs = pgTable(
  "spot_pairs",
  {
    symbol: textKey("symbol").primaryKey(),
    ...settingsOf(symbolFields),
    firstSeenAt: time("first_seen_at").notNull(),
    /** Since when the settings are known to hold. */
    validFrom: time("valid_from").notNull(),
    /** Since when the pair is known to be no longer listed. */
    goneAt: time("gone_at"),
  },
  (t) => [allFinite("spot_pairs_finite", t)],
);

/**
 * A version of a spot pair's settings, from `valid_from` until `valid_to`. No
 * version covers the time in which the pair was not listed.
 */
export const spotPairVersions = pgTable(
  "spot_pair_versions",
  {
    symbol: textKey("symbol").notNull(),
    validFrom: time("valid_from").notNull(),
    /** Null while it holds. */
    validTo: time("valid_to"),
    ...settingsOf(symbolFields),
  },
  (t) => [
    primaryKey({ columns: [t.symbol, t.validFrom] }),
    uniqueIndex("spot_pair_versions_current").on(t.symbol).where(sql`${t.validTo} is null`),
    check("spot_pair_versions_time", sql`${t.validFrom} < ${t.validTo}`),
    allFinite("spot_pair_versions_finite", t),
  ],
);

/** A futures contract's settings as last served; `gone_at` if it is no longer listed. Times are the exchange's. */
export const contracts = pgTable(
  "contracts",
  {
    productType: textKey("product_type").notNull(),
    symbol: textKey("symbol").notNull(),
    ...settingsOf(contractFields),
    firstSeenAt: time("first_seen_at").notNull(),
    /** Since when the settings are known to hold. */
    validFrom: time("valid_from").notNull(),
    /** Since when the contract is known to be no longer listed. */
    goneAt: time("gone_at"),
  },
  (t) => [primaryKey({ columns: [t.productType, t.symbol] }), allFinite("contracts_finite", t)],
);

/** A version of a contract's settings, from `valid_from` until `valid_to`. See spotPairVersions. */
export const contractVersions = pgTable(
  "contract_versions",
  {
    productType: textKey("product_type").notNull(),
    symbol: textKey("symbol").notNull(),
    validFrom: time("valid_from").notNull(),
    /** Null while it holds. */
    validTo: time("valid_to"),
    ...settingsOf(contractFields),
  },
  (t) => [
    primaryKey({ columns: [t.productType, t.symbol, t.validFrom] }),
    uniqueIndex("contract_versions_current")
      .on(t.productType, t.symbol)
      .where(sql`${t.validTo} is null`),
    check("contract_versions_time", sql`${t.validFrom} < ${t.validTo}`),
    allFinite("contract_versions_finite", t),
  ],
);

/** When a list of spot pairs, or of a product type's contracts, was read. An older list does not replace a newer one. */
export const instrumentLists = pgTable("instrument_lists", {
  /** `spot` for the pairs; for contracts, their product type. */
  market: textKey("market").primaryKey(),
  readAt: time("read_at").notNull(),
});

const riskUnit = () => ({
  account: textKey("account").notNull(),
  /** The id that was asked for; empty for the account's own unit. */
  riskUnitId: textKey("risk_unit_id").notNull(),
  firstSeenAt: time("first_seen_at").notNull(),
});

/** A loan-to-value record, which stayed the same from `first_seen_at` to `last_seen_at`. */
export const ltvSnapshots = pgTable(
  "ltv_snapshots",
  {
    ...riskUnit(),
    lastSeenAt: time("last_seen_at").notNull(),
    ltv: numeric("ltv"),
    subAccountUids: text("sub_account_uids").array(),
    usdtBalance: numeric("usdt_balance"),
    unpaidUsdtAmount: numeric("unpaid_usdt_amount"),
    extra: json("extra"),
  },
  (t) => [
    primaryKey({ columns: [t.account, t.riskUnitId, t.firstSeenAt] }),
    check("ltv_snapshots_time", sql`${t.firstSeenAt} <= ${t.lastSeenAt}`),
    allFinite("ltv_snapshots_finite", t),
  ],
);

/** A debt of a loan-to-value record, by coin. The coin is empty where the exchange named none. */
export const ltvDebts = pgTable(
  "ltv_debts",
  {
    ...riskUnit(),
    coin: textKey("coin").notNull(),
    unpaidQty: numeric("unpaid_qty"),
    unpaidInterest: numeric("unpaid_interest"),
    extra: json("extra"),
  },
  (t) => [
    primaryKey({ columns: [t.account, t.riskUnitId, t.firstSeenAt, t.coin] }),
    allFinite("ltv_debts_finite", t),
  ],
);

/** A coin of a loan-to-value record's collateral. */
export const ltvCollateral = pgTable(
  "ltv_collateral",
  {
    ...riskUnit(),
    coin: textKey("coin").notNull(),
    price: numeric("price"),
    amount: numeric("amount"),
    convertedUsdtAmount: numeric("converted_usdt_amount"),
    extra: json("extra"),
  },
  (t) => [
    primaryKey({ columns: [t.account, t.riskUnitId, t.firstSeenAt, t.coin] }),
    allFinite("ltv_collateral_finite", t),
  ],
);

/** A withdrawal from the spot or the funding wallet, as its record was served last. */
export const withdrawals = pgTable(
  "withdrawals",
  {
    ...ledger(),
    orderId: textKey("order_id").notNull(),
    coin: text("coin").notNull(),
    /** What left the wallet, the fee included. Not signed. */
    size: numeric("size").notNull(),
    fee: numeric("fee").notNull(),
    status: text("status").notNull(),
    /** The transaction on the chain; of an internal transfer, its id. */
    transactionId: text("transaction_id"),
    chain: text("chain"),
    createdAt: time("created_at").notNull(),
    updatedAt: time("updated_at").notNull(),
    /** Its bill; null while none was found. */
    billId: textKey("bill_id"),
    extra: json("extra"),
  },
  (t) => [
    primaryKey({ columns: [t.account, t.productType, t.orderId] }),
    unique("withdrawals_bill").on(t.account, t.productType, t.billId),
    allFinite("withdrawals_finite", t),
  ],
);

/**
 * What the exchange said that a wallet holds of a coin, while no bill came: the same from `first_seen_at` to `last_seen_at`. The
 * check compares it with the bills up to `last_seen_at`.
 */
export const walletBalances = pgTable(
  "wallet_balances",
  {
    account: textKey("account").notNull(),
    /** The wallet; "UTA" in a unified account. */
    wallet: textKey("wallet").notNull(),
    coin: textKey("coin").notNull(),
    firstSeenAt: time("first_seen_at").notNull(),
    lastSeenAt: time("last_seen_at").notNull(),
    balance: numeric("balance").notNull(),
    /** Whether it may rightly differ from the balance of the bills: in union asset mode, in a unified account, and while coins are frozen. */
    mayDiffer: boolean("may_differ").notNull(),
    /** The balance that follows from the bills, as the last check found; null before one, or where none follows. */
    expected: numeric("expected"),
  },
  (t) => [
    primaryKey({ columns: [t.account, t.wallet, t.coin, t.firstSeenAt] }),
    check("wallet_balances_time", sql`${t.firstSeenAt} <= ${t.lastSeenAt}`),
    allFinite("wallet_balances_finite", t),
  ],
);
