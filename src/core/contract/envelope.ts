import { z } from "zod";
import { numberAsText } from "./json.ts";
import { epochMsText } from "./scalars.ts";

export const successCode = "00000";

// The exchange is younger than this. A time that is counted in seconds would lie in 1970, and is ignored.
const requestTimeMin = Date.UTC(2018, 0);

/**
 * The envelope of every answer. Refusals were seen without `requestTime` and `data`, and with HTTP 400
 * as well as 200. So only `code` is required: no other broken field may hide it.
 */
export const envelope = z.object({
  code: z.preprocess(numberAsText, z.string()),
  msg: z.string().nullish().catch(undefined),
  /** The exchange's time when it received the request, milliseconds since the Unix epoch. */
  requestTime: epochMsText
    .transform(Number)
    .refine((time) => time >= requestTimeMin)
    .optional()
    .catch(undefined),
  data: z.unknown().optional(),
});

export type Envelope = z.infer<typeof envelope>;
