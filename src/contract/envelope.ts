import { z } from "zod";
import { numberAsText } from "./json.ts";
import { epochMsText } from "./scalars.ts";

export const successCode = "00000";

// Before the exchange existed: a time that is counted in seconds lies long before it.
const requestTimeMin = Date.UTC(2018, 0);

/**
 * What every answer is wrapped in. Refusals were seen without `requestTime` and `data`, and
 * come with HTTP 400 as well as with 200. So only `code` is required, and nothing else that
 * is wrong in an envelope hides what its code says.
 */
export const envelope = z.object({
  code: z.preprocess(numberAsText, z.string()),
  msg: z.string().nullish().catch(undefined),
  /** The exchange's clock when it took the request, milliseconds since the Unix epoch. */
  requestTime: epochMsText
    .transform(Number)
    .refine((time) => time >= requestTimeMin)
    .optional()
    .catch(undefined),
  data: z.unknown().optional(),
});

export type Envelope = z.infer<typeof envelope>;
