import type { z } from "zod";

/**
 * One operation of the exchange's API. Client, server and sandbox all read the same definition,
 * so each path, parameter and limit is written down once.
 */
export type Operation = {
  readonly name: string;
  readonly method: "GET";
  readonly path: string;
  /** `signed` operations carry the ACCESS-* headers, `public` ones carry none of them. */
  readonly access: "signed" | "public";
  /** The schema of the query, whose values are text. */
  readonly query: z.ZodType;
  /** The schema of a successful answer's `data`. */
  readonly data: z.ZodType;
  /** At most `requests` in any rolling `perMs`, counted per user ID or per client address. */
  readonly limit: {
    readonly requests: number;
    readonly perMs: number;
    readonly scope: "uid" | "ip";
  };
};

/** Query parameters as they are signed and sent: text only, absent ones left out. */
export type Query = Readonly<Record<string, string>>;
