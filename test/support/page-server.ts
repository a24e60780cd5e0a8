import { inTransaction, type OpenDatabase } from "../../src/core/postgres/connect.ts";
import { createApp, listen } from "../../src/wings/serve/app.ts";
import type { ServeDeps } from "../../src/wings/serve/route-group.ts";
import { unconfigured } from "./roster.ts";

export type PageServer = Awaited<ReturnType<typeof openPageServer>>;

/** The server in this process, on a port of this machine, with one database after the other. */
export async function openPageServer(
  options: Partial<Pick<ServeDeps, "pageNames" | "readRoster">> = {},
) {
  let shown: OpenDatabase | undefined;
  const complaints: unknown[] = [];
  const complain = (...args: readonly unknown[]) => void complaints.push(args);
  const app = createApp({
    read: async (work) => {
      if (shown === undefined) throw new Error("no database is shown");
      return inTransaction(shown.db, work, { isolation: "repeatable read read only" });
    },
    readAtOnce: () => Promise.reject(new Error("the page reads by transactions")),
    readFirst: () => Promise.reject(new Error("the page is not health")),
    keys: () => new Map(),
    now: Date.now,
    ...unconfigured,
    log: { debug() {}, info() {}, warn() {}, error: complain },
    ...options,
  });
  const listening = await listen(app, { host: "127.0.0.1", port: 0 });
  return {
    url: listening.url,
    /** Sets the database that it reads from now on. */
    show: (tables: OpenDatabase) => {
      shown = tables;
    },
    /** The errors that it logged. */
    complaints,
    [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose](),
  };
}
