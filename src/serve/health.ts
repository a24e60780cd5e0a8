import { sql } from "drizzle-orm";
import { messageOf } from "../errors.ts";
import type { RouteGroup } from "./routes.ts";

/** Whether the process is up, and whether it can answer from the database. Neither needs a key. */
export const health: RouteGroup = (app, { read, log }) => {
  app.get("/healthz", async () => ({ status: "up" }));
  app.get("/readyz", async (_request, reply) => {
    try {
      await read((tx) => tx.execute(sql`select 1`));
      return { status: "ready" };
    } catch (error) {
      log.warn({ error: messageOf(error) }, "the database does not answer");
      return reply.code(503).send({ status: "not ready", database: "away" });
    }
  });
};
