import { z } from "zod";
import { pageSizeMax } from "./account-bills.ts";
import type { Operation } from "./operation.ts";
import { unifiedCategories } from "./product-types.ts";
import { epochMsText, text } from "./scalars.ts";
import { secondMs, unifiedIntervalMaxMs } from "./time.ts";

const query = z
  .strictObject({
    category: z.string().toUpperCase().pipe(z.enum(unifiedCategories)),
    coin: z.string().optional(),
    type: z.string().optional(),
    startTime: epochMsText.optional(),
    endTime: epochMsText.optional(),
    limit: z
      .string()
      .regex(/^\d{1,3}$/)
      .refine(
        (size) => Number(size) >= 1 && Number(size) <= pageSizeMax,
        `is not 1 to ${pageSizeMax}`,
      )
      .optional(),
    /** That of the page before, the id of its last row: asks for what is older. */
    cursor: z.string().optional(),
  })
  .refine(
    ({ startTime, endTime }) => {
      if (startTime === undefined || endTime === undefined) return true;
      const spanMs = Number(endTime) - Number(startTime);
      return spanMs >= 0 && spanMs <= unifiedIntervalMaxMs;
    },
    { path: ["endTime"], error: "is before startTime or more than 30 days after it" },
  );

/**
 * A page of records, whose rows are checked one by one (see unified-bill.ts). An empty one was seen
 * with a `list` of null and of `[]`, and with the cursor null or missing. A list may be missing, too,
 * but not where something else stands in its place: that is no page.
 */
const data = z
  .looseObject({
    list: z.array(z.unknown()).nullish(),
    cursor: z.union([z.literal("").transform(() => null), text]).nullish(),
  })
  .refine(
    ({ list, cursor: _, ...others }) => list !== undefined || Object.keys(others).length === 0,
    { path: ["list"], error: "is missing" },
  )
  .transform(({ list, cursor }) => ({ rows: list ?? [], endId: cursor ?? undefined }));

/** Get Financial Records: the ledger of one category of a unified account, 90 days back. */
export const financialRecords = {
  name: "financial records",
  method: "GET",
  path: "/api/v3/account/financial-records",
  access: "signed",
  query,
  data,
  limit: { requests: 20, perMs: secondMs, scope: "uid" },
} as const satisfies Operation;
