import { once } from "node:events";
import { createServer } from "node:http";
import { type ApiAnswer, Refusal, toAnswer } from "../../../core/server/answer.ts";
import { authenticate } from "../../../core/server/authenticate.ts";
import { type ApiRequest, readRequest } from "../../../core/server/request.ts";
import { epochMs } from "../../../lib/time.ts";
import { type Arrivals, countArrivals } from "./arrivals.ts";
import { type Credentials, namedCredential, refusedMode, refusedRight } from "./credential.ts";
import { type Route, routes } from "./routes.ts";
import type { Context, Source } from "./source.ts";

export type Answer = (request: ApiRequest) => Promise<ApiAnswer>;

type ApiOptions = {
  readonly source: Source;
  readonly credentials: Credentials;
  /** The time, milliseconds since the Unix epoch. Fractions make the rate limits more precise. */
  readonly now: () => number;
  /** The exchange's clock, for signatures, answers and the horizon. */
  readonly clock: () => number;
};

/**
 * Answers the operations of the contract from a source. Free of transport and timers, so a
 * simulation can call it with a clock of its own. Never rejects.
 */
export function createApi(options: ApiOptions): Answer {
  const arrivals = countArrivals();
  return async (request) => {
    const at: RequestTimes = { now: options.now(), clock: options.clock() };
    const served = await serve(options, arrivals, request, at).catch((error: unknown) => {
      process.emitWarning(error instanceof Error ? error : String(error));
      return new Refusal(500, "40015", "System is abnormal, please try again later");
    });
    return toAnswer(served, Math.floor(at.clock));
  };
}

type RequestTimes = { readonly now: number; readonly clock: number };

async function serve(
  options: ApiOptions,
  arrivals: Arrivals,
  request: ApiRequest,
  at: RequestTimes,
): Promise<object | Refusal> {
  if (!arrivals.admitsAddress(request.clientAddress, at.now)) return tooMany;
  const route = routes.get(request.path);
  if (route === undefined) return new Refusal(404, "40404", "Request URL NOT FOUND");
  if (request.method !== "GET") return new Refusal(405, "405", "Request method GET expected");
  if (route.access === "signed") return serveSigned(options, arrivals, route, request, at);
  if (!arrivals.admits(route.operation, request.clientAddress, at.now)) return tooMany;
  return route.serve(contextOf(options, request, at));
}

async function serveSigned(
  options: ApiOptions,
  arrivals: Arrivals,
  route: Extract<Route, { access: "signed" }>,
  request: ApiRequest,
  at: RequestTimes,
): Promise<object | Refusal> {
  const credential = namedCredential(request, options.credentials);
  if (credential instanceof Refusal) return credential;
  // Counted before the signature is checked, because the limit counts requests with a wrong one too.
  if (!arrivals.admits(route.operation, credential.uid, at.now)) return tooMany;
  const refusal =
    refusedMode(route.api, credential) ??
    authenticate(request, credential, at.clock) ??
    refusedRight(request, credential, route.permission);
  return refusal ?? route.serve({ ...contextOf(options, request, at), caller: credential });
}

const contextOf = (
  { source }: ApiOptions,
  { query, headers }: ApiRequest,
  at: RequestTimes,
): Context => ({
  source,
  query,
  now: epochMs(Math.floor(at.now)),
  clock: epochMs(Math.floor(at.clock)),
  demo: headers["paptrading"] === "1",
});

const tooMany = new Refusal(429, "429", "Too Many Requests");

// For URL and headers together. The longest legitimate request has about 1 KiB.
const headBytesMax = 16 * 1_024;
// Longer than clients keep connections, so that the server never closes one that is being reused.
const keepAliveMs = 65_000;
const requestTimeoutMs = 30_000;

type ApiServer = AsyncDisposable & { readonly url: string };

/**
 * Serves an API over HTTP until it is disposed of.
 *
 * @param port 0 takes any free port.
 * @throws the system's error where the port cannot be taken.
 */
export async function serveApi(answer: Answer, port: number): Promise<ApiServer> {
  const server = createServer({
    maxHeaderSize: headBytesMax,
    keepAliveTimeout: keepAliveMs,
    requestTimeout: requestTimeoutMs,
  });
  server.on("request", async (incoming, outgoing) => {
    const { status, headers, body } = await answer(readRequest(incoming));
    outgoing.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) }).end(body);
  });
  const host = "127.0.0.1";
  server.listen(port, host);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error(`no port on ${host}`);
  return {
    url: `http://${host}:${address.port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
