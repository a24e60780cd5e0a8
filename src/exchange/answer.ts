import type { z } from "zod";
import { type Envelope, envelope, successCode } from "../contract/envelope.ts";
import { parseExactJson } from "../contract/json.ts";
import type { Operation } from "../contract/operation.ts";
import { secondMs } from "../contract/time.ts";
import { ExchangeError } from "../errors.ts";
import { refusalOf } from "./refusals.ts";
import { retryAfterMs } from "./retry.ts";
import type { HttpAnswer } from "./transport.ts";

/** The answer's envelope; undefined where the body is HTML, truncated or of another shape. */
export function envelopeOf({ body }: HttpAnswer): Envelope | undefined {
  try {
    return envelope.safeParse(parseExactJson(body)).data;
  } catch {
    return undefined;
  }
}

/**
 * The failure that an answer reports by its HTTP status or by its code; undefined for a success.
 * @param now the exchange's time, with which a Retry-After date is compared.
 * @param scrub removes secrets from the answer's text.
 */
export function failureOf(
  answer: HttpAnswer,
  body: Envelope | undefined,
  now: number,
  scrub: (text: string) => string,
): ExchangeError | undefined {
  const httpOk = answer.status >= 200 && answer.status < 300;
  if (httpOk && body?.code === successCode) return undefined;
  const said = startOf(scrub(body?.msg ?? answer.body));
  const start = `HTTP ${answer.status} ${said === "" ? "with an empty body" : `"${said}"`}`;
  if (httpOk && body === undefined) {
    // An empty body with HTTP 200 was seen on unified accounts. It went away by itself.
    const kind = answer.body === "" ? "unavailable" : "malformed";
    return new ExchangeError(kind, `the answer is not the exchange's: ${start}`);
  }
  const code = body?.code === successCode ? undefined : body?.code;
  const { kind, remedy } = refusalOf(code, answer.status);
  const shownCode = code === undefined ? undefined : startOf(scrub(code));
  const name = shownCode === undefined ? start : `${shownCode}: ${said}`;
  const pauseMs = retryAfterMs(answer.retryAfter, now);
  const pause = pauseMs === undefined ? "" : `, retry after ${Math.ceil(pauseMs / secondMs)} s`;
  return new ExchangeError(kind, `the exchange refused (${name}${pause}): ${remedy}`, {
    code: shownCode ?? `HTTP ${answer.status}`,
    retryAfterMs: pauseMs,
  });
}

/** @throws ExchangeError of kind `malformed` where the data breaks the operation's contract. */
export function dataOf<Op extends Operation>(
  operation: Op,
  body: Envelope | undefined,
): z.output<Op["data"]> {
  const parsed = operation.data.safeParse(body?.data);
  if (parsed.success) return parsed.data as z.output<Op["data"]>;
  const [issue] = parsed.error.issues;
  const place = ["data", ...(issue?.path ?? [])].join(".");
  throw new ExchangeError(
    "malformed",
    `the answer to ${operation.name} broke the contract at ${place}: ${issue?.message}`,
  );
}

const lengthMax = 160;

/** The start of an untrusted text, on one line and without control characters, for a terminal. */
const startOf = (text: string): string =>
  text
    .slice(0, 4 * lengthMax)
    .replaceAll(/[\p{C}\s]+/gu, " ")
    .trim()
    .slice(0, lengthMax);
