import type { FastifyReply } from "fastify";
import { toAnswer } from "../server/api.ts";
import type { Refusal } from "../server/source.ts";

/** Sends data, or a refusal, in the envelope of the exchange. */
export function sendEnvelope(reply: FastifyReply, served: object | Refusal): FastifyReply {
  const { status, headers, body } = toAnswer(served, Date.now());
  return reply.code(status).headers(headers).send(body);
}
