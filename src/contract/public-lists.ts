import { z } from "zod";
import type { Operation } from "./operation.ts";
import { text } from "./scalars.ts";
import { secondMs } from "./time.ts";

// Operations that this program does not read itself, but that its server must answer: clients call them
// before they ask for bills. ccxt's loadMarkets calls them all. Source: the requests of ccxt 4.5.

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

/** Get Server Time of the v2 and of the v3 API. */
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

/** Lists that are not stored here. The server answers them with empty lists, which clients accept. */
export const emptyLists: readonly Operation[] = [coins, marginCurrencies, instruments];
