import { Registry } from "prom-client";
import { readMetrics, readReachableMetrics } from "../metrics/registry.ts";
import { noRoster } from "../roster/roster.ts";
import type { RouteGroup } from "./route-group.ts";

/**
 * What is stored, and what the server counted, in the format of Prometheus. Needs no key. Requests
 * that arrive while an answer is computed get that answer.
 */
export const metrics: RouteGroup = (app, deps) => {
  const { read, readReachable, limits, readRoster = noRoster, http } = deps;
  const readStored = () =>
    readReachableMetrics(readReachable, (accounts) =>
      read((tx) => readMetrics(tx, { readRoster, limits, accounts })),
    );
  let underWay: ReturnType<typeof readStored> | undefined;
  app.get("/metrics", async (_request, reply) => {
    underWay ??= readStored().finally(() => {
      underWay = undefined;
    });
    const all = Registry.merge([(await underWay).registry, http.registry]);
    return reply.type(all.contentType).send(await all.metrics());
  });
};
