import { z } from "zod";
import { intervalMaxMs } from "../../lib/time.ts";
import { coinFilterTypes } from "./business-types.ts";
import { type Operation, spanAtMost, spanParameters } from "./operation.ts";
import { classicProductTypes } from "./product-types.ts";
import { text } from "./scalars.ts";

export const pageSizeMax = 100;
export const pageSizeDefault = 20;

const query = z
  .strictObject({
    /** Upper or lower case: the exchange's own examples write `susdt-futures`. */
    productType: z.string().toUpperCase().pipe(z.enum(classicProductTypes)),
    /** Accepted with the two transfer types only. */
    coin: z.string().optional(),
    businessType: z.string().optional(),
    /** "yes" leaves out the four margin types that move no money. */
    onlyFunding: z.enum(["yes", "no"]).optional(),
    /** The `endId` of the previous page: the bills older than it are asked for. */
    idLessThan: z.string().optional(),
    ...spanParameters(pageSizeMax),
  })
  .refine(
    ({ coin, businessType }) =>
      coin === undefined || coinFilterTypes.some((code) => code === businessType),
    { path: ["coin"], error: `goes with businessType ${coinFilterTypes.join(" or ")} only` },
  )
  .refine(...spanAtMost(intervalMaxMs));

/**
 * A page of bills. The rows are checked one by one (see bill.ts), so that a broken row does not
 * invalidate the others. The end of the ledger was described with `bills` as `[]` or null, and with `endId`
 * empty, null or missing. Each of these is read as an empty page.
 */
const data = z
  .looseObject({
    bills: z.array(z.unknown()).nullable(),
    endId: z.union([z.literal("").transform(() => null), text]).nullish(),
  })
  .transform(({ bills, endId }) => ({ rows: bills ?? [], endId: endId ?? undefined }));

export type BillPage = z.output<typeof data>;

/** Get Account Bills: the last 90 days of one product type's ledger, newest first. */
export const accountBills = {
  name: "account bills",
  path: "/api/v2/mix/account/bill",
  access: "signed",
  query,
  data,
  limit: { requests: 10, scope: "uid" },
} as const satisfies Operation;
