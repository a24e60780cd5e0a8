import { z } from "zod";
import { classicProductTypes, unifiedCategories } from "../../contract/product-types.ts";
import { epochMsText } from "../../contract/scalars.ts";

/** The most rows of a page. The exchange serves 100. */
export const pageSizeMax = 1_000;

// The longest name that the contract allows. An id has at most 20 digits.
const nameLengthMax = 200;
const name = z.string().min(1).max(nameLengthMax);
const billId = z.string().regex(/^\d{1,40}$/);
const time = (what: string) => epochMsText.meta({ type: "string", description: what });

const limit = z
  .string()
  .regex(/^\d{1,4}$/)
  .refine((size) => Number(size) >= 1 && Number(size) <= pageSizeMax, `is not 1 to ${pageSizeMax}`)
  .meta({ description: `How many bills, 1 to ${pageSizeMax}.` });

const span = {
  startTime: time("From this time on, in ms since the Unix epoch. Any age.").optional(),
  endTime: time("Up to this time, inclusive.").optional(),
  limit: limit.optional(),
};

type Span = { readonly startTime?: string | undefined; readonly endTime?: string | undefined };

const inOrder = ({ startTime, endTime }: Span) =>
  startTime === undefined || endTime === undefined || Number(startTime) <= Number(endTime);

const order = { path: ["endTime"], error: "is before startTime" };

/**
 * The query of Get Account Bills: all of the contract's parameters, in any combination, and three
 * more.
 */
export const billsQuery = z
  .strictObject({
    productType: z
      .string()
      .toUpperCase()
      .pipe(z.enum(classicProductTypes))
      .meta({ description: "In any case." }),
    symbol: name.optional(),
    coin: name.optional(),
    /** Equal to coin: a bill is in its margin coin. */
    marginCoin: name.optional(),
    businessType: name.optional(),
    onlyFunding: z.enum(["yes", "no"]).optional(),
    idLessThan: billId.optional().meta({ description: "The endId of the page before." }),
    ...span,
  })
  .refine(inOrder, order);

/** The query of Get Financial Records. */
export const recordsQuery = z
  .strictObject({
    category: z
      .string()
      .toUpperCase()
      .pipe(z.enum(unifiedCategories))
      .meta({ description: "In any case." }),
    symbol: name.optional(),
    coin: name.optional(),
    type: name.optional(),
    cursor: billId.optional().meta({ description: "The cursor of the page before." }),
    ...span,
  })
  .refine(inOrder, order);

/** The query of Get Account Bills of the spot wallet. */
export const spotBillsQuery = z
  .strictObject({
    coin: name.optional(),
    groupType: name.optional(),
    businessType: name.optional(),
    idLessThan: billId
      .optional()
      .meta({ description: "The id of the last bill of the page before." }),
    ...span,
  })
  .refine(inOrder, order);

/** The query of Get Funding Financial Records. */
export const fundingQuery = z
  .strictObject({
    coin: name.optional(),
    type: name.optional(),
    cursor: billId.optional().meta({ description: "The cursor of the page before." }),
    ...span,
  })
  .refine(inOrder, order);

export const loanToValueQuery = z.strictObject({ riskUnitId: name.optional() });
