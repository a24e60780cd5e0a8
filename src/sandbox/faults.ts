import { setTimeout as sleepFor } from "node:timers/promises";
import { signedPath } from "../contract/signature.ts";
import { minuteMs } from "../contract/time.ts";
import { type Answer, type ApiAnswer, type ApiRequest, toAnswer } from "../exchange-server/api.ts";
import { Refusal } from "../exchange-server/source.ts";
import { pick, type Random } from "./random.ts";

const html = (status: number, title: string): ApiAnswer => ({
  status,
  headers: { "content-type": "text/html" },
  body: `<html><head><title>${status} ${title}</title></head><body><h1>${title}</h1></body></html>`,
});

const refusal =
  (status: number, code: string, msg: string, headers?: Record<string, string>) =>
  (_answer: ApiAnswer, requestTime: number): ApiAnswer =>
    toAnswer(new Refusal(status, code, msg, headers), requestTime);

const half = (body: string): number => Math.floor(body.length / 2);

/** What can happen to a good answer on its way. Each is worth a retry. */
export const faults = {
  "html-500": () => html(500, "Internal Server Error"),
  "html-503": () => html(503, "Service Unavailable"),
  "too-many-requests": refusal(429, "429", "Too Many Requests", { "retry-after": "1" }),
  cut: (answer: ApiAnswer) => ({
    ...answer,
    delivery: { way: "cut", afterBytes: half(answer.body) },
  }),
  "truncated-json": (answer: ApiAnswer) => ({
    ...answer,
    body: answer.body.slice(0, half(answer.body)),
  }),
  "null-data": (_answer: ApiAnswer, requestTime: number) => ({
    status: 200,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code: "00000", msg: "success", requestTime, data: null }),
  }),
  "error-in-200": refusal(200, "40015", "System is abnormal, please try again later"),
  "code-40010": refusal(400, "40010", "Request timed out"),
  "code-40015": refusal(400, "40015", "System is abnormal, please try again later"),
  "code-40200": refusal(400, "40200", "Server upgrade, please try again later"),
  "code-40725": refusal(400, "40725", "service return an error"),
  "code-45001": refusal(400, "45001", "Unknown error"),
  "code-40808": refusal(400, "40808", "Parameter verification exception"),
  slow: (answer: ApiAnswer) => answer,
} as const satisfies Record<string, (answer: ApiAnswer, requestTime: number) => ApiAnswer>;

export type NamedFault = keyof typeof faults;

export const faultNames = Object.keys(faults) as readonly NamedFault[];

export type FaultOptions = {
  /** The fault of a request; undefined for none. */
  readonly decide: (request: ApiRequest) => NamedFault | undefined;
  /** How long a slow answer takes, in ms. Default 2,000. */
  readonly slowMs?: number;
  /** How a slow answer waits. Default a real timer. */
  readonly sleep?: (delayMs: number) => Promise<unknown>;
};

/**
 * Spoils some answers. Each request still arrives and counts against the limits. An answer that is
 * already a refusal stays as it is.
 */
export function withFaults(answer: Answer, options: FaultOptions): Answer {
  const { decide, slowMs = 2_000, sleep = sleepFor } = options;
  return async (request) => {
    const fault = decide(request);
    const given = await answer(request);
    if (fault === undefined || given.status !== 200) return given;
    if (fault === "slow") await sleep(slowMs);
    return faults[fault](given, requestTimeOf(given));
  };
}

export type RandomFaults = {
  readonly random: Random;
  /** The share of requests with a fault, 0 to 1. */
  readonly rate: number;
  /** Default all. */
  readonly kinds?: readonly NamedFault[];
  /** The most faults in a row for one request, so that bounded retries succeed. Default 3. */
  readonly inARowMax?: number;
};

/** Draws faults at random. The same sequence of requests gets the same faults. */
export function randomFaults({
  random,
  rate,
  kinds = faultNames,
  inARowMax = 3,
}: RandomFaults): FaultOptions["decide"] {
  const inARow = new Map<string, number>();
  return ({ path, query }) => {
    const request = signedPath(path, query);
    const before = inARow.get(request) ?? 0;
    const draw = random();
    const kind = pick(random, kinds);
    if (draw >= rate || before >= inARowMax) {
      inARow.delete(request);
      return undefined;
    }
    inARow.set(request, before + 1);
    return kind;
  };
}

/** Refuses some product types permanently, as for a key without the permission. */
export function withRefusedProducts(
  answer: Answer,
  productTypes: readonly string[],
  refused = new Refusal(400, "40014", "Incorrect permissions, need futures read permissions"),
): Answer {
  return async (request) => {
    const given = await answer(request);
    const isRefused = productTypes.includes(request.query["productType"] ?? "");
    return isRefused && given.status === 200 ? toAnswer(refused, requestTimeOf(given)) : given;
  };
}

export type Latency = {
  /** How long the request takes to arrive, and the answer to return, in ms. */
  readonly there: () => number;
  readonly back: () => number;
  readonly sleep?: (delayMs: number) => Promise<unknown>;
};

/** Adds latency between client and server. A request arrives, and is counted, only after it. */
export function withLatency(answer: Answer, { there, back, sleep = sleepFor }: Latency): Answer {
  return async (request) => {
    await sleep(boundedDelay(there()));
    const given = await answer(request);
    await sleep(boundedDelay(back()));
    return given;
  };
}

const boundedDelay = (delayMs: number): number => Math.min(Math.max(delayMs, 0), minuteMs);

function requestTimeOf({ body }: ApiAnswer): number {
  const { requestTime } = JSON.parse(body) as { requestTime: number };
  return requestTime;
}
