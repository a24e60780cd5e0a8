import { z } from "zod";
import { type RowFault, unstorable } from "./json.ts";
import type { Operation } from "./operation.ts";
import { type Row, readerOf } from "./row.ts";
import { optionalDecimal, optionalText, optionalTexts } from "./scalars.ts";

/** A coin's name. It is a key and so never null: it is empty where the exchange names no coin. */
const coin = optionalText.transform((name) => name ?? "");

/** The debt in one coin: unpaid principal and unpaid interest. */
const debtFields = {
  coin,
  unpaidQty: optionalDecimal,
  unpaidInterest: optionalDecimal,
};

/** The assets in one margin coin. */
const collateralFields = {
  coin,
  price: optionalDecimal,
  amount: optionalDecimal,
  convertedUsdtAmount: optionalDecimal,
};

const rows = z
  .array(z.unknown())
  .nullish()
  .transform((items) => items ?? []);

/**
 * The loan-to-value record of one risk unit. Every value may be absent: what the exchange sends for a unit
 * without a loan is not known.
 */
const loanToValueFields = {
  /** Risk rate: debt over assets, a decimal. */
  ltv: optionalDecimal,
  /** User IDs of the sub-accounts in the risk unit. */
  subAccountUids: optionalTexts,
  /** Total assets: margin coins converted to USDT. */
  usdtBalance: optionalDecimal,
  /** Total debt, converted to USDT. */
  unpaidUsdtAmount: optionalDecimal,
  unpaidInfo: rows,
  balanceInfo: rows,
};

const readTotals = readerOf(loanToValueFields);
const readDebt = readerOf(debtFields);
const readCollateral = readerOf(collateralFields);

/** What a risk unit owns and owes. Decimals are text. Values that are missing, null or "" are null. */
export type LoanToValue = Omit<Row<typeof loanToValueFields>, "unpaidInfo" | "balanceInfo"> & {
  /** One entry per coin, sorted by coin: the exchange's order means nothing. */
  readonly debts: readonly Row<typeof debtFields>[];
  readonly collateral: readonly Row<typeof collateralFields>[];
};

type LoanToValueReading = { readonly record: LoanToValue } | { readonly fault: RowFault };

/** Reads a record. Never throws: for a record that breaks the contract it returns the fault. */
export function readLoanToValue(data: unknown): LoanToValueReading {
  // Checked on the whole record first: a fault found in a part would not name its place in the record.
  const fault = unstorable(data);
  if (fault !== undefined) return { fault };
  const reading = readTotals(data);
  if ("fault" in reading) return reading;
  const { unpaidInfo, balanceInfo, ...totals } = reading.values;
  const debts = readCoins("unpaidInfo", unpaidInfo, readDebt);
  if ("fault" in debts) return debts;
  const collateral = readCoins("balanceInfo", balanceInfo, readCollateral);
  if ("fault" in collateral) return collateral;
  return { record: { ...totals, debts: debts.coins, collateral: collateral.coins } };
}

/** Reads a record's list of coins. Each coin is a key, so none may occur twice. */
function readCoins<Coin extends { readonly coin: string }>(
  list: string,
  sent: readonly unknown[],
  read: (row: unknown) => { readonly values: Coin } | { readonly fault: RowFault },
): { readonly coins: readonly Coin[] } | { readonly fault: RowFault } {
  const coins = new Map<string, Coin>();
  for (const [index, row] of sent.entries()) {
    const reading = read(row);
    const place = [list, index];
    if ("fault" in reading) {
      const path = [...place, reading.fault.path].filter((part) => part !== "").join(".");
      return { fault: { path, reason: reading.fault.reason } };
    }
    const { coin } = reading.values;
    if (coins.has(coin)) {
      return {
        fault: {
          path: [...place, "coin"].join("."),
          reason: `names ${coin === "" ? "no coin" : coin} twice`,
        },
      };
    }
    coins.set(coin, reading.values);
  }
  return { coins: [...coins.values()].sort((a, b) => (a.coin < b.coin ? -1 : 1)) };
}

/** Get LTV: the risk rate of an institutional lending risk unit. */
export const loanToValue = {
  name: "loan-to-value",
  path: "/api/v2/spot/ins-loan/ltv-convert",
  access: "signed",
  /** A parent account must name the risk unit; a risk unit's own account leaves it out. */
  query: z.strictObject({ riskUnitId: z.string().optional() }),
  /**
   * Any object is accepted here, and {@link readLoanToValue} checks the record. A fault here would make the
   * client ask again, which does not fix a broken record.
   */
  data: z.looseObject({}),
  limit: { requests: 5, scope: "uid" },
} as const satisfies Operation;

/** Get LTV of a unified account, with the same answer. Source: the API's v3 documentation. */
export const unifiedLoanToValue = {
  ...loanToValue,
  name: "loan-to-value of a unified account",
  path: "/api/v3/ins-loan/ltv-convert",
  limit: { requests: 3, scope: "uid" },
} as const satisfies Operation;

export type LoanToValueOperation = typeof loanToValue | typeof unifiedLoanToValue;
