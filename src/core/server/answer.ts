import { successCode } from "../contract/envelope.ts";

export type ApiAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** An answer that is not a success. A source may return one in place of its data. */
export class Refusal {
  readonly status: number;
  readonly code: string;
  readonly msg: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: string,
    msg: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.status = status;
    this.code = code;
    this.msg = msg;
    this.headers = headers;
  }
}

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
