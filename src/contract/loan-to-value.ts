import { z } from "zod";
import type { Operation } from "./operation.ts";
import { optionalDecimal, optionalText, text } from "./scalars.ts";
import { secondMs } from "./time.ts";

const list = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .nullish()
    .transform((items) => items ?? []);

/**
 * The loan-to-value record of one risk unit. What the exchange sends where a unit has no loan
 * is not known, so every value may be absent.
 */
const data = z.looseObject({
  /** Risk rate: debt over assets, a decimal. */
  ltv: optionalDecimal,
  /** User IDs of the sub-accounts in the risk unit. */
  subAccountUids: list(text),
  /** Total assets: margin coins converted to USDT. */
  usdtBalance: optionalDecimal,
  /** Total debt, converted to USDT. */
  unpaidUsdtAmount: optionalDecimal,
  /** Debt, one entry a coin: principal and interest still unpaid. */
  unpaidInfo: list(
    z.looseObject({
      coin: optionalText,
      unpaidQty: optionalDecimal,
      unpaidInterest: optionalDecimal,
    }),
  ),
  /** Assets, one entry a margin coin. */
  balanceInfo: list(
    z.looseObject({
      coin: optionalText,
      price: optionalDecimal,
      amount: optionalDecimal,
      convertedUsdtAmount: optionalDecimal,
    }),
  ),
});

export type LoanToValue = z.output<typeof data>;

/** Get LTV: the risk rate of an institutional lending risk unit. */
export const loanToValue = {
  name: "loan-to-value",
  method: "GET",
  path: "/api/v2/spot/ins-loan/ltv-convert",
  access: "signed",
  /** A parent account names the unit; a risk unit's own account leaves it out. */
  query: z.strictObject({ riskUnitId: z.string().optional() }),
  data,
  limit: { requests: 5, perMs: secondMs, scope: "uid" },
} as const satisfies Operation;
