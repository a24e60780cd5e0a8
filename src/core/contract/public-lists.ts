import { z } from "zod";
import type { Operation } from "./operation.ts";
import { text } from "./scalars.ts";

// Operations that this program does not read itself, but that its server must answer: clients call them
// before they ask for bills. ccxt's loadMarkets calls them all. Source: the requests of ccxt 4.5.

const limit = { requests: 20, scope: "ip" } as const;

const publicList = (name: string, path: string, query: z.ZodType): Operation => ({
  name,
  path,
  access: "public",
  query,
  data: z.array(z.unknown()),
  limit,
});

const serverTime = (path: string): Operation => ({
  name: `server time at ${path}`,
  path,
  access: "public",
  query: z.strictObject({}),
  /** Milliseconds since the Unix epoch, as text. */
  data: z.object({ serverTime: text }),
  limit,
});

/** Get Server Time of the v2 and of the v3 API. */
export const serverTimes: readonly Operation[] = [
  serverTime("/api/v2/public/time"),
  serverTime("/api/v3/public/time"),
];

/** Lists that are not stored here. The server answers them with empty lists, which clients accept. */
export const emptyLists: readonly Operation[] = [
  publicList("coins", "/api/v2/spot/public/coins", z.strictObject({ coin: z.string().optional() })),
  publicList("margin currencies", "/api/v2/margin/currencies", z.strictObject({})),
  publicList(
    "instruments",
    "/api/v3/market/instruments",
    z.strictObject({ category: z.string(), symbol: z.string().optional() }),
  ),
];
