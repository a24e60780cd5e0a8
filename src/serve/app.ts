import { type FastifyInstance, fastify } from "fastify";
import { explained } from "../db/database-errors.ts";
import { firstThrown, messageOf, ReportableError } from "../errors.ts";
import type { Log } from "../log.ts";
import { createHttpMetrics, type HttpMetrics } from "../metrics/http-metrics.ts";
import { Refusal } from "../server/source.ts";
import { sendEnvelope } from "./envelope.ts";
import { health } from "./health.ts";
import { metrics } from "./metrics.ts";
import { mirror } from "./mirror/mirror.ts";
import { openapi } from "./openapi.ts";
import { page } from "./page/page.ts";
import type { RouteGroup, ServeDeps } from "./routes.ts";

/** All that is served. */
const routeGroups: readonly RouteGroup[] = [health, metrics, mirror, openapi, page];

// URL and headers together; the longest honest request has about 1 KiB.
const headBytesMax = 16 * 1_024;
// Nothing that is served reads a body.
const bodyBytesMax = 1_024;
// Longer than a client's own, so that the server never closes a connection that is being reused.
const keepAliveMs = 65_000;
const requestMaxMs = 30_000;
// A client that takes nothing for so long gives up its connection, and the answer's memory.
const idleMaxMs = 60_000;
const connectionsMax = 1_000;

/** The server with all its routes. It listens to nothing yet: `inject` asks it in process. */
export function createApp(deps: ServeDeps): FastifyInstance {
  const app = fastify({
    // One line a request, of our own: fastify's would hold the query.
    logger: false,
    bodyLimit: bodyBytesMax,
    keepAliveTimeout: keepAliveMs,
    requestTimeout: requestMaxMs,
    connectionTimeout: idleMaxMs,
    exposeHeadRoutes: false,
    http: { maxHeaderSize: headBytesMax },
    routerOptions: {
      // Read where it is signed, letter for letter.
      querystringParser: () => ({}),
      onBadUrl: (_path, _request, response) => {
        response.writeHead(404, { "content-type": "application/json" }).end(notFoundBody());
      },
    },
  });
  app.server.maxConnections = connectionsMax;
  const http = createHttpMetrics();
  watchRequests(app, deps.log, http);
  app.addHook("onRequest", async (request, reply) => {
    if (request.url.includes("%00")) return sendEnvelope(reply, noText());
  });
  app.setNotFoundHandler((_request, reply) => sendEnvelope(reply, notFound()));
  app.setErrorHandler((error, _request, reply) => {
    const known = clientFault(error);
    if (known !== undefined) return sendEnvelope(reply, known);
    return sendEnvelope(reply, serverFault(error, deps.log));
  });
  for (const addRoutes of routeGroups) addRoutes(app, { ...deps, http });
  return app;
}

const notFound = () => new Refusal(404, "40404", "Request URL NOT FOUND");
/** No text in Postgres holds this character: a statement with it fails, and costs its connection. */
const noText = () => new Refusal(400, "40020", "A parameter has the character NUL");
const notFoundBody = () => JSON.stringify({ code: "40404", msg: "Request URL NOT FOUND" });

/** What fastify refuses before a route is reached: a body that is too long, or of a kind unknown. */
function clientFault(error: unknown): Refusal | undefined {
  if (!(error instanceof Error && "statusCode" in error)) return undefined;
  const status = Number(error.statusCode);
  return status >= 400 && status < 500
    ? new Refusal(status, "40020", "Request is not valid")
    : undefined;
}

/** The database may come back; anything else is a defect. The client is told neither's details. */
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

/** The path as a route names it: what a client wrote may hold anything, a secret too. */
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
