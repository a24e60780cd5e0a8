import { sql } from "drizzle-orm";
import { Registry } from "prom-client";
import type { Queryable } from "../../core/postgres/connect.ts";
import { msOf, timeFrom } from "../../core/postgres/values.ts";
import { messageOf } from "../../lib/errors.ts";
import { readMetrics, registryOf } from "./registry.ts";
import type { RouteGroup } from "./route-group.ts";

/** The JSON of `/readyz`. */
type Readiness = {
  readonly status: "ready" | "not ready";
  readonly database: "up" | "away";
  readonly freshness?: "empty" | "fresh" | "stale";
};

/**
 * `/healthz`: whether the process is up. `/readyz`: whether it can answer from the database.
 * Neither needs a key, and neither waits for other requests.
 */
export const health: RouteGroup = (app, { readFirst, now, limits, log }) => {
  const readNewest = shared(() => readFirst(newestReading));
  app.get("/healthz", async () => ({ status: "up" }));
  app.get("/readyz", async (_request, reply) => {
    try {
      const newest = await readNewest();
      const isFresh = newest !== undefined && now() - newest <= limits.maxAgeMs;
      const freshness = newest === undefined ? "empty" : isFresh ? "fresh" : "stale";
      return reply
        .code(isFresh ? 200 : 503)
        .send({ status: statusOf(isFresh), database: "up", freshness } satisfies Readiness);
    } catch (error) {
      log.warn({ error: messageOf(error) }, "the database does not answer");
      return reply
        .code(503)
        .send({ status: statusOf(false), database: "away" } satisfies Readiness);
    }
  });
};

/** Who asks while an answer is computed gets that answer. */
function shared<Answer>(compute: () => Promise<Answer>): () => Promise<Answer> {
  let underWay: Promise<Answer> | undefined;
  return () => {
    underWay ??= compute().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}

const statusOf = (isReady: boolean) => (isReady ? "ready" : "not ready");

/**
 * The newest time that was read of any ledger. A single ledger that lags does not count: its own
 * requests are refused.
 */
async function newestReading(connection: Queryable) {
  const { rows } = await connection.execute<{ newest: string | null }>(sql`
    select ${msOf(sql`max(upper(covered))`)} as newest
    from ledgers`);
  const newest = rows[0]?.newest ?? null;
  return timeFrom(newest);
}

/**
 * What is stored, and what the server counted, in the format of Prometheus. Needs no key.
 */
export const metrics: RouteGroup = (app, deps) => {
  const { read, limits, readRoster, http } = deps;
  const readStored = shared(async () => {
    return registryOf(await read((tx) => readMetrics(tx, { readRoster, limits })));
  });
  app.get("/metrics", async (_request, reply) => {
    const all = Registry.merge([await readStored(), http.registry]);
    return reply.type(all.contentType).send(await all.metrics());
  });
};
