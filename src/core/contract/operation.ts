import { z } from "zod";
import { dayMs } from "../../lib/time.ts";
import { epochMsText } from "./scalars.ts";

/**
 * One operation of the exchange's API, asked by GET. Client, server and sandbox all read the same definition,
 * so each path, parameter and limit is written down once.
 */
export type Operation = {
  readonly name: string;
  readonly path: string;
  /** `signed` operations carry the ACCESS-* headers, `public` ones carry none of them. */
  readonly access: "signed" | "public";
  /** The schema of the query, whose values are text. */
  readonly query: z.ZodType;
  /** The schema of a successful answer's `data`. */
  readonly data: z.ZodType;
  /** At most `requests` in any rolling second, counted per user ID or per client address. */
  readonly limit: { readonly requests: number; readonly scope: "uid" | "ip" };
};

/** Query parameters as they are signed and sent: text only, absent ones left out. */
export type Query = Readonly<Record<string, string>>;

/** The parameters of a span of time and of the size of a page, of at most so many rows. */
export const spanParameters = (rowsMax: number) => ({
  startTime: epochMsText.optional(),
  endTime: epochMsText.optional(),
  limit: z
    .string()
    .regex(/^\d{1,3}$/)
    .refine((size) => Number(size) >= 1 && Number(size) <= rowsMax, `is not 1 to ${rowsMax}`)
    .optional(),
});

/** The rule, for `refine`, that a query's span is neither reversed nor too long. */
export const spanAtMost = (
  spanMaxMs: number,
): [(query: object) => boolean, { path: string[]; error: string }] => [
  (query: object): boolean => {
    const { startTime, endTime }: { startTime?: string; endTime?: string } = query;
    if (startTime === undefined || endTime === undefined) return true;
    const spanMs = Number(endTime) - Number(startTime);
    return spanMs >= 0 && spanMs <= spanMaxMs;
  },
  {
    path: ["endTime"],
    error: `is before startTime or more than ${spanMaxMs / dayMs} days after it`,
  },
];
