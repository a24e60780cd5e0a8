import { z } from "zod";
import type { Operation } from "./operation.ts";
import { text } from "./scalars.ts";
import { secondMs } from "./time.ts";

// What clients ask for beside the operations that this program reads, before their first question for
// bills: ccxt's loadMarkets wants all of it. Source: the requests of ccxt 4.5.

const limit = { requests: 20, perMs: secondMs, scope: "ip" } as const;

const publicList = <Name extends string, Path extends string, Query extends z.ZodType>(
  name: Name,
  path: Path,
  query: Query,
) =>
  ({
    name,
    method: "GET",
    path,
    access: "public",
    query,
    data: z.array(z.unknown()),
    limit,
  }) as const;

const serverTime = (path: string) =>
  ({
    name: `server time at ${path}`,
    method: "GET",
    path,
    access: "public",
    query: z.strictObject({}),
    /** Milliseconds since the Unix epoch, as text. */
    data: z.object({ serverTime: text }),
    limit,
  }) as const;

/** Get Server Time, for clients of each API. */
export const serverTimes: readonly Operation[] = [
  serverTime("/api/v2/public/time"),
  serverTime("/api/v3/public/time"),
];

const coins = publicList(
  "coins",
  "/api/v2/spot/public/coins",
  z.strictObject({ coin: z.string().optional() }),
);

const marginCurrencies = publicList(
  "margin currencies",
  "/api/v2/margin/currencies",
  z.strictObject({}),
);

const instruments = publicList(
  "instruments",
  "/api/v3/market/instruments",
  z.strictObject({ category: z.string(), symbol: z.string().optional() }),
);

/** Lists that nothing here keeps: clients do with empty ones. */
export const emptyLists: readonly Operation[] = [coins, marginCurrencies, instruments];
