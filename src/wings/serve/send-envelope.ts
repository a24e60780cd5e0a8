import type { FastifyReply } from "fastify";
import { successCode } from "../../core/contract/envelope.ts";
import { type ApiAnswer, type Refusal, toAnswer } from "../../core/server/answer.ts";

/** Data that is JSON text already and is sent as it is. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** An answer before it is put into the envelope. */
export type Served = {
  readonly data: object | JsonText | Refusal;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Sends data or a refusal in the exchange's envelope. */
export function sendEnvelope(
  reply: FastifyReply,
  { data, headers: others = {} }: Served,
  requestTime: number = Date.now(),
): FastifyReply {
  const { status, headers, body } =
    data instanceof JsonText ? wrapped(data, requestTime) : toAnswer(data, requestTime);
  return reply
    .code(status)
    .headers({ ...others, ...headers })
    .send(body);
}

const wrapped = ({ text }: JsonText, requestTime: number): ApiAnswer => ({
  status: 200,
  headers: { "content-type": "application/json" },
  body: `{"code":"${successCode}","msg":"success","requestTime":${requestTime},"data":${text}}`,
});
