import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { type FastifyInstance, fastify } from "fastify";
import type { Log } from "../../commands/log.ts";
import { explained } from "../../core/postgres/database-errors.ts";
import { Refusal } from "../../core/server/answer.ts";
import { firstThrown, messageOf, ReportableError } from "../../lib/errors.ts";
import { secondMs } from "../../lib/time.ts";
import { health, metrics } from "./health.ts";
import { limitAnswers, limitedByConnection, limitReads } from "./load.ts";
import { mirror } from "./mirror/mirror.ts";
import { page, sendNoSuchPage } from "./page/page-routes.ts";
import { createHttpMetrics, type HttpMetrics } from "./registry.ts";
import type { RouteGroup, ServeDeps } from "./route-group.ts";
import { sendEnvelope } from "./send-envelope.ts";

// Shorter than the time that systemd, for example, waits before it kills a server.
const goodbyeMaxMs = 5 * secondMs;

type Listening = AsyncDisposable & { readonly url: string };

/**
 * Listens until it is disposed of. Then it accepts no new request, and lets running ones end.
 * @throws ReportableError if the port cannot be taken.
 */
export async function listen(
  app: FastifyInstance,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Listening> {
  try {
    const url = await app.listen({ host, port });
    return { url, [Symbol.asyncDispose]: () => close(app) };
  } catch (error) {
    throw new ReportableError(
      `port ${port} of ${host} cannot be used (${messageOf(error)}); choose another, or 0 for a free one`,
    );
  }
}

async function close(app: FastifyInstance): Promise<void> {
  const closed = app.close();
  await Promise.race([closed, delay(goodbyeMaxMs, undefined, { ref: false })]);
  app.server.closeAllConnections();
  await closed;
}

/** What the server sheds under load: all but health. */
const limited: readonly RouteGroup[] = [metrics, mirror, page];

// For URL and headers together. The longest honest request has about 1 KiB.
const headBytesMax = 16 * 1_024;
// No route reads a body.
const bodyBytesMax = 1_024;
// Longer than clients keep idle connections, so that the server never closes one that a client is
// reusing.
const keepAliveMs = 65_000;
// No route reads a body, so a request is one packet. Node looks every second for older ones.
const requestMaxMs = 5_000;
const requestCheckMs = 1_000;
// A client that reads nothing for this long, at most twice as long, loses its connection, which frees
// the answer's memory.
const idleMaxMs = 60_000;
const connectionsMax = 1_000;

/**
 * Builds the server with all its routes. It does not listen yet: `inject` sends it requests in
 * process.
 */
export function createApp(deps: ServeDeps): FastifyInstance {
  const app = fastify({
    // The server writes its own line for each request: fastify's would contain the query.
    logger: false,
    bodyLimit: bodyBytesMax,
    serverFactory: (handler) =>
      createServer(
        {
          maxHeaderSize: headBytesMax,
          keepAliveTimeout: keepAliveMs,
          requestTimeout: requestMaxMs,
          connectionsCheckingInterval: requestCheckMs,
        },
        limitedByConnection(handler),
      ).setTimeout(idleMaxMs),
    exposeHeadRoutes: false,
    routerOptions: {
      // Queries are parsed where signatures are checked, letter for letter.
      querystringParser: () => ({}),
      onBadUrl: (_path, _request, response) => {
        response.writeHead(404, { "content-type": "application/json" }).end(notFoundBody());
      },
    },
  });
  app.server.maxConnections = connectionsMax;
  // A thousand connections that wait for nothing must not keep out the questions for health.
  app.server.on("drop", () => app.server.closeIdleConnections());
  const http = createHttpMetrics();
  watchRequests(app, deps.log, http);
  app.addHook("onRequest", async (request, reply) => {
    if (request.url.includes("%00")) return sendEnvelope(reply, { data: noText() });
  });
  app.setNotFoundHandler(({ method, headers }, reply) =>
    method === "GET" && headers.accept?.includes("text/html")
      ? sendNoSuchPage(reply)
      : sendEnvelope(reply, { data: notFound() }),
  );
  app.setErrorHandler((error, _request, reply) => {
    const data = clientFault(error) ?? serverFault(error, deps.log);
    return sendEnvelope(reply, { data });
  });
  const limitedDeps = { ...limitReads(deps), http };
  health(app, { ...deps, http });
  app.register(async (scope) => {
    limitAnswers(scope);
    for (const addRoutes of limited) addRoutes(scope, limitedDeps);
  });
  return app;
}

const notFound = () => new Refusal(404, "40404", "Request URL NOT FOUND");
/** A Postgres text cannot contain NUL: a statement with one fails, and costs its connection. */
const noText = () => new Refusal(400, "40020", "A parameter has the character NUL");
const notFoundBody = () => JSON.stringify({ code: "40404", msg: "Request URL NOT FOUND" });

/**
 * Refusals by fastify before a route is reached: a body that is too long, or of an unknown type.
 */
function clientFault(error: unknown): Refusal | undefined {
  if (!(error instanceof Error && "statusCode" in error)) return undefined;
  const status = Number(error.statusCode);
  return status >= 400 && status < 500
    ? new Refusal(status, "40020", "Request is not valid")
    : undefined;
}

/**
 * An error of the database may be temporary; any other is a defect. The client is told no details
 * of either.
 */
function serverFault(thrown: unknown, log: Log): Refusal {
  const error = explained(firstThrown(thrown));
  if (error instanceof ReportableError) {
    log.error({ error: messageOf(error) }, "a request failed");
    return new Refusal(503, "40725", "The database does not answer, please try again later", {
      "retry-after": "5",
    });
  }
  log.error({ error: error instanceof Error ? error.stack : String(error) }, "defect");
  return new Refusal(500, "40015", "System is abnormal, please try again later");
}

/**
 * Logs and counts requests by route. The path that a client wrote is not logged: it may contain a
 * secret.
 */
function watchRequests(app: FastifyInstance, log: Log, http: HttpMetrics): void {
  app.addHook("onResponse", async (request, reply) => {
    const answer = {
      method: request.method,
      route: request.routeOptions.url ?? "none",
      status: reply.statusCode,
    };
    http.answered({ ...answer, ms: reply.elapsedTime });
    log.info({ ...answer, ms: Math.round(reply.elapsedTime), client: request.ip }, "request");
  });
}
