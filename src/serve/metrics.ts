import { Registry } from "prom-client";
import { readAccountStates } from "../db/accounts/account-states.ts";
import { readSyncedStreams } from "../db/ledger/checkpoints.ts";
import { registryOf } from "../metrics/registry.ts";
import { readObservations } from "../reports/observations.ts";
import type { RouteGroup } from "./routes.ts";

/**
 * What is stored, and what the server counted, as Prometheus reads it. Needs no key. Whoever asks while
 * another's answer is under way gets the same one.
 */
export const metrics: RouteGroup = (app, deps) => {
  const { read, settleLagMs, configured = () => [], http } = deps;
  const readStored = () =>
    read(async (tx) => {
      const known = [...(await readSyncedStreams(tx)), ...configured(await readAccountStates(tx))];
      const streams = new Map(known.map((one) => [`${one.account}/${one.productType}`, one]));
      return registryOf(await readObservations(tx, [...streams.values()], settleLagMs));
    });
  let underWay: ReturnType<typeof readStored> | undefined;
  app.get("/metrics", async (_request, reply) => {
    underWay ??= readStored().finally(() => {
      underWay = undefined;
    });
    const all = Registry.merge([await underWay, http.registry]);
    return reply.type(all.contentType).send(await all.metrics());
  });
};
