import { setTimeout as sleepFor } from "node:timers/promises";
import { minuteMs } from "../../src/contract/time.ts";
import {
  type Answer,
  type ApiAnswer,
  type ApiRequest,
  toAnswer,
} from "../../src/exchange-server/api.ts";
import { Refusal } from "../../src/exchange-server/source.ts";
import { spoiledAnswer } from "./answers.ts";
import type { Fault } from "./kinds.ts";

/**
 * Meets chosen requests with a fault. Each request still arrives and counts against the limits. An
 * answer that is already a refusal stays as it is.
 */
export function withFaults(
  answer: Answer,
  decide: (request: ApiRequest) => Fault | undefined,
): Answer {
  return async (request) => {
    const fault = decide(request);
    const given = await answer(request);
    return fault === undefined || given.status !== 200 ? given : spoiledAnswer(given, fault);
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
