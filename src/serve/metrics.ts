import { Registry } from "prom-client";
import { readMetrics } from "../metrics/read-metrics.ts";
import type { RouteGroup } from "./routes.ts";

/**
 * What is stored, and what the server counted, in the format of Prometheus. Needs no key. Requests
 * that arrive while an answer is computed get that answer.
 */
export const metrics: RouteGroup = (app, deps) => {
  const { read, settleLagMs, configured = () => [], http } = deps;
  const readStored = () => read((tx) => readMetrics(tx, { configured, settleLagMs }));
  let underWay: ReturnType<typeof readStored> | undefined;
  app.get("/metrics", async (_request, reply) => {
    underWay ??= readStored().finally(() => {
      underWay = undefined;
    });
    const all = Registry.merge([await underWay, http.registry]);
    return reply.type(all.contentType).send(await all.metrics());
  });
};
