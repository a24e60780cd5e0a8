import type { Config } from "../../accounts/config.ts";
import { rosterReader } from "../../accounts/roster.ts";
import { type Io, note } from "../../commands/io.ts";
import { openLog } from "../../commands/log.ts";
import { type Define, portOf } from "../../commands/options.ts";
import { openFilled } from "../../commands/stored.ts";
import { openDatabase, readOnly, readOnlyAtOnce, urgently } from "../../core/postgres/connect.ts";
import { isDirect } from "../../core/postgres/connections.ts";
import { secondMs } from "../../lib/time.ts";
import { done, type Result } from "../../output/result.ts";
import { createApp, listen } from "./app.ts";
import { openKeyRing } from "./mirror/key-file.ts";

type ServeOptions = {
  readonly port: number;
  readonly host: string;
  readonly pageHost?: readonly string[];
};

// No client waits longer than this for a page.
const statementMaxMs = 20 * secondMs;

/** `serve`: answers requests from the database, until Ctrl-C. */
export async function serveCommand(
  config: Config,
  io: Io,
  { port, host, pageHost = [] }: ServeOptions,
): Promise<Result> {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await openFilled(config, io, { statementMaxMs }));
  // The embedded Postgres has another address for reading. A role, or a pooler in session mode, may have no second
  // connection.
  const { db } =
    database.readOnlyUrl === database.url
      ? database
      : stack.use(openDatabase(database.readOnlyUrl.reveal(), { statementMaxMs }));
  const log = openLog(config.logLevel, io);
  const keys = openKeyRing(config.keysFile, Date.now, log);
  const app = createApp({
    read: readOnly(db),
    readAtOnce: readOnlyAtOnce(db, await isDirect(db.$client)),
    readFirst: (work) => urgently(db, work),
    keys,
    now: Date.now,
    limits: config.healthLimits,
    log,
    readRoster: rosterReader(config),
    npm: io.npm,
    pageNames: pageHost.map((name) => name.toLowerCase()),
  });
  const server = stack.use(await listen(app, { host, port }));
  if (keys().size === 0)
    note(io, "no client has a key yet: bill-sync mirror-keys add NAME makes one");
  note(io, "serving what is stored until Ctrl-C");
  return { ...done(server.url), running: stack.move() };
}

const help = `
Clients of the exchange read what is stored from this server, with a key of its
own. Paths, fields and digits are the exchange's. It listens on this machine
alone unless --host says otherwise, and prints its address. If no sync has read
for HEALTH_MAX_AGE, requests for the newest time are refused.`;

export const define: Define = (serve, { io, config, runs }) => {
  serve
    .option("--port <port>", "0 for any free port", portOf, 8787)
    .option("--host <address>", "where to listen; 0.0.0.0 is every address", "127.0.0.1")
    .option("--page-host <name...>", "show the page under the name of a proxy that authenticates")
    .addHelpText("after", help)
    .action(runs((options: ServeOptions) => serveCommand(config(), io, options)));
};
