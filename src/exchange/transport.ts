import { Agent, request } from "undici";
import { secondMs } from "../contract/time.ts";
import { ExchangeError, messageOf } from "../errors.ts";

export type HttpRequest = { readonly url: URL; readonly headers: Readonly<Record<string, string>> };

export type HttpAnswer = {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: string;
};

/**
 * Sends one GET and reads its whole answer, whatever its status. Redirects are not followed:
 * the headers would carry the key to another place.
 * @throws ExchangeError of kind `unavailable` when no whole answer came.
 */
export type Transport = (request: HttpRequest) => Promise<HttpAnswer>;

const connectMaxMs = 10 * secondMs;
const headersMaxMs = 15 * secondMs;
const wholeAnswerMaxMs = 30 * secondMs;
// A page of 100 bills is some 30 kB and all symbols some 2 MB.
const bodyMaxBytes = 16 * 1_024 * 1_024;

/** The real transport: keep-alive connections of undici, each wait and size bounded. */
export function openTransport(): Transport & AsyncDisposable {
  const agent = new Agent({
    connect: { timeout: connectMaxMs },
    headersTimeout: headersMaxMs,
    bodyTimeout: headersMaxMs,
    maxResponseSize: bodyMaxBytes,
  });
  const send: Transport = async ({ url, headers }) => {
    try {
      const answer = await request(url, {
        method: "GET",
        headers,
        dispatcher: agent,
        // Counts the body too, which arriving byte by byte would never time out.
        signal: AbortSignal.timeout(wholeAnswerMaxMs),
      });
      const retryAfter = answer.headers["retry-after"];
      return {
        status: answer.statusCode,
        retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
        body: await answer.body.text(),
      };
    } catch (error) {
      throw new ExchangeError("unavailable", `no answer from ${url.host}: ${reasonOf(error)}`, {
        cause: error,
      });
    }
  };
  return Object.assign(send, { [Symbol.asyncDispose]: () => agent.destroy() });
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "UND_ERR_RES_EXCEEDED_MAX_SIZE") {
    return `the body is larger than ${bodyMaxBytes} bytes`;
  }
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return `the whole answer took longer than ${wholeAnswerMaxMs / secondMs} s`;
  }
  return messageOf(error);
}
