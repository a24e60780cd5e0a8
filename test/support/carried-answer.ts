import { ExchangeError } from "../../src/errors.ts";
import { type HttpAnswer, transportLimits } from "../../src/exchange/transport.ts";
import type { DeliveredAnswer } from "../faults/delivery.ts";

/**
 * What a client in this process gets of an answer, as the real transport would give it, and when.
 * @throws ExchangeError of kind `unavailable` if the transport would have given up.
 */
export async function carried(
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
