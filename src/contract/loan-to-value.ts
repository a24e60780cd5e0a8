import { z } from "zod";
import { type RowFault, unstorable } from "./json.ts";
import type { Operation } from "./operation.ts";
import { type Extra, readRow } from "./row.ts";
import { optionalDecimal, optionalText, text } from "./scalars.ts";
import { secondMs } from "./time.ts";

/** A coin's name, which is a key and so never null: empty where the exchange names none. */
const coin = optionalText.transform((name) => name ?? "");

/** Debt in one coin: principal and interest still unpaid. */
export const debtFields = {
  coin,
  unpaidQty: optionalDecimal,
  unpaidInterest: optionalDecimal,
};

/** Assets in one margin coin. */
export const collateralFields = {
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
 * The loan-to-value record of one risk unit. What the exchange sends where a unit has no loan
 * is not known, so every value may be absent.
 */
export const loanToValueFields = {
  /** Risk rate: debt over assets, a decimal. */
  ltv: optionalDecimal,
  /** User IDs of the sub-accounts in the risk unit. */
  subAccountUids: z
    .array(text)
    .nullish()
    .transform((uids) => uids ?? null),
  /** Total assets: margin coins converted to USDT. */
  usdtBalance: optionalDecimal,
  /** Total debt, converted to USDT. */
  unpaidUsdtAmount: optionalDecimal,
  unpaidInfo: rows,
  balanceInfo: rows,
};

const debtRow = z.object(debtFields);
const collateralRow = z.object(collateralFields);
const record = z.object(loanToValueFields);

export type Debt = z.output<typeof debtRow> & { readonly extra: Extra };
export type Collateral = z.output<typeof collateralRow> & { readonly extra: Extra };

/** What a risk unit owns and owes. Decimals are text; what was not sent, or null, or "", is null. */
export type LoanToValue = {
  readonly ltv: string | null;
  readonly subAccountUids: readonly string[] | null;
  readonly usdtBalance: string | null;
  readonly unpaidUsdtAmount: string | null;
  readonly extra: Extra;
  /** One a coin, sorted by it: the order in which they were sent means nothing. */
  readonly debts: readonly Debt[];
  readonly collateral: readonly Collateral[];
};

export type LoanToValueReading = { readonly record: LoanToValue } | { readonly fault: RowFault };

/** Reads a record. Never throws: one that breaks the contract comes back as its fault. */
export function readLoanToValue(data: unknown): LoanToValueReading {
  // Before its parts, whose own faults do not name the place in the whole.
  const fault = unstorable(data);
  if (fault !== undefined) return { fault };
  const reading = readRow(loanToValueFields, record, data);
  if ("fault" in reading) return reading;
  const { unpaidInfo, balanceInfo, ...totals } = reading.values;
  const debts = readCoins("unpaidInfo", unpaidInfo, (row) => readRow(debtFields, debtRow, row));
  if ("fault" in debts) return debts;
  const collateral = readCoins("balanceInfo", balanceInfo, (row) =>
    readRow(collateralFields, collateralRow, row),
  );
  if ("fault" in collateral) return collateral;
  return { record: { ...totals, debts: debts.coins, collateral: collateral.coins } };
}

/** Reads the list of a record's coins, each of which is a key: none may be named twice. */
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
  method: "GET",
  path: "/api/v2/spot/ins-loan/ltv-convert",
  access: "signed",
  /** A parent account names the unit; a risk unit's own account leaves it out. */
  query: z.strictObject({ riskUnitId: z.string().optional() }),
  /** Read whole by {@link readLoanToValue}: asking again does not mend what is wrong inside. */
  data: z.looseObject({}),
  limit: { requests: 5, perMs: secondMs, scope: "uid" },
} as const satisfies Operation;

/** The same of a unified account, with the same answer. Source: the API's v3 documentation. */
export const unifiedLoanToValue = {
  ...loanToValue,
  name: "loan-to-value of a unified account",
  path: "/api/v3/ins-loan/ltv-convert",
  limit: { requests: 3, perMs: secondMs, scope: "uid" },
} as const satisfies Operation;

export type LoanToValueOperation = typeof loanToValue | typeof unifiedLoanToValue;
