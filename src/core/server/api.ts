import { epochMs } from "../../lib/time.ts";
import { successCode } from "../contract/envelope.ts";
import { type Arrivals, countArrivals } from "./arrivals.ts";
import { authenticate, namedCredential, refusedMode, type SignedRequest } from "./authenticate.ts";
import { type Route, routes } from "./routes.ts";
import { type Context, type Credentials, Refusal, type Source } from "./source.ts";

/** A request as it arrived, whatever carried it. Its headers have names in any case. */
export type ApiRequest = SignedRequest & { readonly clientAddress: string };

export type ApiAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

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
  return async (incoming) => {
    const at: RequestTimes = { now: options.now(), clock: options.clock() };
    const request = { ...incoming, headers: lowerCased(incoming.headers) };
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
    authenticate(request, credential, route.permission, at.clock);
  return refusal ?? route.serve(contextOf(options, request, at), credential);
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

/** An answer in the envelope that every operation shares. */
export function toAnswer(served: object | Refusal, requestTime: number): ApiAnswer {
  const contentType = { "content-type": "application/json" };
  if (served instanceof Refusal) {
    const { status, code, msg, headers } = served;
    const body = JSON.stringify({ code, msg, requestTime, data: null });
    return { status, headers: { ...contentType, ...headers }, body };
  }
  const body = JSON.stringify({ code: successCode, msg: "success", requestTime, data: served });
  return { status: 200, headers: contentType, body };
}

function lowerCased(headers: ApiRequest["headers"]): ApiRequest["headers"] {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
