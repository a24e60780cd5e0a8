import { z } from "zod";
import { numberAsText } from "./json.ts";

export const successCode = "00000";

/**
 * What every answer is wrapped in. Refusals were seen without `requestTime` and `data`, and
 * come with HTTP 400 as well as with 200, so only `code` is required.
 */
export const envelope = z.looseObject({
  code: z.preprocess(numberAsText, z.string()),
  msg: z.string().nullish(),
  /** The exchange's clock when it took the request, milliseconds since the Unix epoch. */
  requestTime: z.int().positive().nullish(),
  data: z.unknown(),
});

export type Envelope = z.infer<typeof envelope>;
