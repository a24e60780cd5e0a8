import { Registry } from "prom-client";
import { readMetrics } from "../metrics/read-metrics.ts";
import type { RouteGroup } from "./routes.ts";

/**
 * What is stored, and what the server counted, as Prometheus reads it. Needs no key. Whoever asks while
 * another's answer is under way gets the same one.
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
