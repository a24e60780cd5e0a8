import { setTimeout as sleepFor } from "node:timers/promises";
import type { ApiRequest } from "../../src/core/server/request.ts";
import type { Answer } from "../../src/wings/sandbox/exchange/api.ts";
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

/**
 * Adds latency between client and server: how long the request takes to arrive, and the answer to return, in ms. A
 * request arrives, and is counted, only after it.
 */
export function withLatency(
  answer: Answer,
  there: () => number,
  back: () => number,
  sleep: (delayMs: number) => Promise<unknown> = sleepFor,
): Answer {
  return async (request) => {
    await sleep(there());
    const given = await answer(request);
    await sleep(back());
    return given;
  };
}
