import { sql } from "drizzle-orm";
import { Registry } from "prom-client";
import type { Queryable } from "../db/connect.ts";
import { isOneOf, msOf, timeFrom } from "../db/values.ts";
import { messageOf } from "../errors.ts";
import { readMetrics, registryOf } from "../metrics/registry.ts";
import type { RouteGroup } from "./route-group.ts";

/**
 * `/healthz`: whether the process is up. `/readyz`: whether it can answer from the database.
 * Neither needs a key, and neither waits for other requests.
 */
export const health: RouteGroup = (app, { readFirst, readReachable, now, limits, log }) => {
  const readNewest = () =>
    readReachable((accounts) => readFirst((connection) => newestReading(connection, accounts)));
  let underWay: ReturnType<typeof readNewest> | undefined;
  app.get("/healthz", async () => ({ status: "up" }));
  app.get("/readyz", async (_request, reply) => {
    try {
      underWay ??= readNewest().finally(() => {
        underWay = undefined;
      });
      const { result: settledTo, unreachable } = await underWay;
      const isFresh = settledTo !== undefined && now() - settledTo <= limits.maxAgeMs;
      const freshness = settledTo === undefined ? "empty" : isFresh ? "fresh" : "stale";
      return reply.code(isFresh ? 200 : 503).send({
        ...{ status: statusOf(isFresh), database: "up", freshness },
        unreachable: unreachable.length,
      });
    } catch (error) {
      log.warn({ error: messageOf(error) }, "the database does not answer");
      return reply.code(503).send({ status: statusOf(false), database: "away" });
    }
  });
};

const statusOf = (isReady: boolean) => (isReady ? "ready" : "not ready");

/**
 * The newest time that was read of any ledger. A single ledger that lags does not count: its own
 * requests are refused.
 */
async function newestReading(connection: Queryable, accounts: readonly string[] | undefined) {
  const { rows } = await connection.execute<{ newest: string | null }>(sql`
    select ${msOf(sql`max(upper(covered))`)} as newest
    from ledgers
    where ${isOneOf(accounts)}`);
  const newest = rows[0]?.newest ?? null;
  return timeFrom(newest);
}

/**
 * What is stored, and what the server counted, in the format of Prometheus. Needs no key. Requests
 * that arrive while an answer is computed get that answer.
 */
export const metrics: RouteGroup = (app, deps) => {
  const { read, readReachable, limits, readRoster, http } = deps;
  const readStored = async () => {
    const { result, unreachable } = await readReachable((accounts) =>
      read((tx) => readMetrics(tx, { readRoster, limits, accounts })),
    );
    return registryOf(result, unreachable.length);
  };
  let underWay: ReturnType<typeof readStored> | undefined;
  app.get("/metrics", async (_request, reply) => {
    underWay ??= readStored().finally(() => {
      underWay = undefined;
    });
    const all = Registry.merge([await underWay, http.registry]);
    return reply.type(all.contentType).send(await all.metrics());
  });
};
