import {
  type HttpAnswer,
  type Transport,
  transportLimits,
} from "../../src/core/exchange/transport.ts";
import { ExchangeError } from "../../src/lib/errors.ts";
import type { DeliveredAnswer } from "../exchange/answers.ts";
import { withLatency } from "../exchange/network.ts";
import type { Sandbox } from "../exchange/sandbox.ts";

/**
 * Carries requests to a sandbox in this process, and what a client gets of an answer, as the real transport would give
 * it, and when.
 * @param latencyMs the one-way delay.
 */
export function sandboxTransport(
  sandbox: Sandbox,
  sleep: (delayMs: number) => Promise<unknown>,
  latencyMs: () => number,
): Transport {
  const answer = withLatency(sandbox.answer, latencyMs, latencyMs, sleep);
  return async ({ url, headers }) => {
    const query = Object.fromEntries(url.searchParams);
    const request = { method: "GET", path: url.pathname, query, headers };
    return carried(await answer({ ...request, clientAddress: "127.0.0.1" }), sleep);
  };
}

/** @throws ExchangeError of kind `unavailable` if the transport would have given up. */
async function carried(
  { status, headers, body, delivery }: DeliveredAnswer,
  sleep: (delayMs: number) => Promise<unknown>,
): Promise<HttpAnswer> {
  const { silenceMaxMs, wholeAnswerMaxMs } = transportLimits;
  const arriveAfter = async (delayMs: number, mostMs: number) => {
    await sleep(Math.min(delayMs, mostMs));
    if (delayMs > mostMs) throw new ExchangeError("unavailable", `no answer in ${mostMs} ms`);
  };
  switch (delivery?.way) {
    case undefined:
      break;
    case "reset":
    case "cut":
      throw new ExchangeError("unavailable", `the connection was ${delivery.way}`);
    case "hold":
      await arriveAfter(delivery.holdMs, silenceMaxMs);
      break;
    case "drip": {
      const dripped = Math.min(delivery.bytes ?? Number.POSITIVE_INFINITY, body.length);
      if (delivery.dripMs > silenceMaxMs) await arriveAfter(delivery.dripMs, silenceMaxMs);
      await arriveAfter(dripped * delivery.dripMs, wholeAnswerMaxMs);
      break;
    }
    default:
      delivery satisfies never;
  }
  return { status, retryAfter: headers["retry-after"], body };
}
