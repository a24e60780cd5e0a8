import type { FastifyReply } from "fastify";
import { toAnswer } from "../server/api.ts";
import type { Refusal } from "../server/source.ts";

/** Sends data, or a refusal, in the envelope of the exchange. */
export function sendEnvelope(
  reply: FastifyReply,
  served: object | Refusal,
  others: Readonly<Record<string, string>> = {},
  requestTime: number = Date.now(),
): FastifyReply {
  const { status, headers, body } = toAnswer(served, requestTime);
  return reply
    .code(status)
    .headers({ ...others, ...headers })
    .send(body);
}
