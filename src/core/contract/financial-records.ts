import { z } from "zod";
import { unifiedIntervalMaxMs } from "../../lib/time.ts";
import { pageSizeMax } from "./account-bills.ts";
import { type Operation, spanAtMost, spanParameters } from "./operation.ts";
import { unifiedCategories } from "./product-types.ts";
import { text } from "./scalars.ts";

/** The query of a v3 ledger. @param extra its parameters beside the common ones. */
export const recordsQuery = <Extra extends z.ZodRawShape>(extra: Extra) =>
  z
    .strictObject({
      coin: z.string().optional(),
      type: z.string().optional(),
      ...spanParameters(pageSizeMax),
      /** The previous page's cursor, which is the id of its last row: older rows are asked for. */
      cursor: z.string().optional(),
      ...extra,
    })
    .refine(...spanAtMost(unifiedIntervalMaxMs));

/**
 * A page of records. The rows are checked one by one (see unified-bill.ts). Empty pages were seen with
 * `list` null or `[]`, and with the cursor null or missing. The list may also be missing, unless the data
 * has fields other than the cursor: such data is not a page.
 */
export const recordsData = z
  .looseObject({
    list: z.array(z.unknown()).nullish(),
    cursor: z.union([z.literal("").transform(() => null), text]).nullish(),
  })
  .refine(
    ({ list, cursor: _, ...others }) => list !== undefined || Object.keys(others).length === 0,
    { path: ["list"], error: "is missing" },
  )
  .transform(({ list, cursor }) => ({ rows: list ?? [], endId: cursor ?? undefined }));

/** Get Financial Records: the last 90 days of one category's ledger of a unified account. */
export const financialRecords = {
  name: "financial records",
  path: "/api/v3/account/financial-records",
  access: "signed",
  query: recordsQuery({ category: z.string().toUpperCase().pipe(z.enum(unifiedCategories)) }),
  data: recordsData,
  limit: { requests: 20, scope: "uid" },
} as const satisfies Operation;
