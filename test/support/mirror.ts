import { usualLimits } from "../../src/check/health/finding-rows.ts";
import { accountBills } from "../../src/core/contract/account-bills.ts";
import type { Query } from "../../src/core/contract/operation.ts";
import { signature } from "../../src/core/contract/signature.ts";
import { openDatabase } from "../../src/core/postgres/connect.ts";
import { hourMs } from "../../src/lib/time.ts";
import { createApp } from "../../src/wings/serve/app.ts";
import { type MirrorKey, newKey } from "../../src/wings/serve/mirror/key-file.ts";
import { keptLog, serverDeps } from "./server-deps.ts";

export const aMirrorKey = (
  account: string,
  but: Partial<Pick<MirrorKey, "name" | "incomplete" | "productTypes">> = {},
): MirrorKey =>
  newKey(
    { name: `of ${account}`, account, productTypes: undefined, incomplete: "refuse", ...but },
    new Date(0),
  );

export type Mirror = ReturnType<typeof openMirror>;

/** A key of the server, or of the exchange. */
type Keys = Readonly<Record<"apiKey" | "apiSecret" | "apiPassphrase", string>>;

/** The headers of a signed request. */
export const signedHeaders = (
  { apiKey, apiSecret, apiPassphrase }: Keys,
  timestamp: string,
  path: string,
  query: Query,
) => ({
  "access-key": apiKey,
  "access-sign": signature(apiSecret, { timestamp, path, query }),
  "access-passphrase": apiPassphrase,
  "access-timestamp": timestamp,
});

/** Asks a server for the newest bills, over its port. @returns the status, and the code and message of the answer. */
export async function askServer(url: string, keys: Keys) {
  const query = { productType: "USDT-FUTURES" };
  const { path } = accountBills;
  const answer = await fetch(`${url}${path}?${new URLSearchParams(query)}`, {
    headers: signedHeaders(keys, String(Date.now()), path, query),
  });
  const { code, msg } = (await answer.json()) as Readonly<Record<"code" | "msg", string>>;
  return { status: answer.status, code, msg };
}

/** The server on a test's database, in the test's time. */
export function openMirror(
  url: string,
  {
    keys,
    now,
    maxAgeMs = 3 * hourMs,
  }: {
    readonly keys: readonly MirrorKey[];
    readonly now: () => number;
    readonly maxAgeMs?: number;
  },
) {
  const database = openDatabase(url);
  let asked = 0;
  // As fast as a key may send.
  const clock = () => now() + 10 * asked;
  /**
   * Lets 10 ms pass.
   * @returns the server's time, in ms since the Unix epoch.
   */
  const tick = () => {
    asked++;
    return Math.floor(clock());
  };
  const { log, lines } = keptLog();
  const ring = new Map(keys.map((key) => [key.apiKey, key]));
  const limits = { ...usualLimits, maxAgeMs };
  const app = createApp(serverDeps(database.db, { keys: () => ring, now: clock, log, limits }));
  return {
    app,
    /** The log, line by line. */
    lines,
    tick,
    /** Sends a request with a good signature, without a network. */
    async ask(key: MirrorKey, path: string, query: Readonly<Record<string, string>>) {
      const search = new URLSearchParams(query).toString();
      const { statusCode, headers, body } = await app.inject({
        method: "GET",
        url: search === "" ? path : `${path}?${search}`,
        headers: signedHeaders(key, String(tick()), path, query),
      });
      const answer: { readonly code: string; readonly msg: string; readonly data: unknown } =
        JSON.parse(body);
      return { status: statusCode, headers, text: body, body: answer };
    },
    async [Symbol.asyncDispose]() {
      await app.close();
      await database[Symbol.asyncDispose]();
    },
  };
}
