import { isUtf8 } from "node:buffer";
import { ExchangeError, errorCode, messageOf } from "../../lib/errors.ts";
import { openFilesRemedy, saysOutOfFiles } from "../../lib/open-files.ts";
import { attemptMaxMs, patiently } from "../../lib/patiently.ts";
import type { Secret } from "../../lib/secret.ts";
import { secondMs } from "../../lib/time.ts";
import { Agent, type Dispatcher, ProxyAgent, proxyPool, request } from "./undici.ts";

type HttpRequest = {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Called when the request is sent, on an open connection: after the handshakes. */
  readonly onSent?: () => void;
  /** The address of the proxy through which it is sent. */
  readonly proxy?: Secret | undefined;
};

export type HttpAnswer = {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: string;
};

/**
 * Sends one GET and reads its whole answer, whatever its status. It follows no redirects, since they would
 * carry the key to another server.
 * @throws ExchangeError of kind `unavailable` if no whole answer came; `malformed` if a successful answer is
 *   not UTF-8, for instance compressed; `refused-request` if the server's certificate does not prove that it
 *   is the exchange: nothing was sent to it.
 */
export type Transport = (request: HttpRequest) => Promise<HttpAnswer>;

export type TransportLimits = {
  readonly connectMaxMs: number;
  /** The longest wait for an answer's headers, and between two pieces of its body. */
  readonly silenceMaxMs: number;
  readonly wholeAnswerMaxMs: number;
  readonly bodyMaxBytes: number;
};

export const transportLimits: TransportLimits = {
  connectMaxMs: 10 * secondMs,
  silenceMaxMs: 15 * secondMs,
  wholeAnswerMaxMs: 30 * secondMs,
  // A page of 100 bills is some 30 kB and all symbols some 2 MB.
  bodyMaxBytes: 16 * 1_024 * 1_024,
};

/**
 * The real transport: undici's keep-alive connections, with a limit on each wait and size. It never resends
 * a request by itself: the exchange's rate limit would count the copy, and ours would not.
 * @param localAddress the address that connections are made from. Default the system's choice.
 */
export function openTransport(
  limits = transportLimits,
  localAddress?: string,
): Transport & AsyncDisposable {
  const tls = { rejectUnauthorized: true, timeout: limits.connectMaxMs };
  const from = localAddress === undefined ? {} : { localAddress };
  const options = {
    // Over HTTP/2 undici resends requests that the server refused, or left unanswered at a GOAWAY: 40
    // requests arrived as 76. Over HTTP/1.1, one at a time on each connection, it resends nothing.
    allowH2: false,
    // Set here, because undici ignores a localAddress inside `connect`.
    ...from,
    headersTimeout: limits.silenceMaxMs,
    bodyTimeout: limits.silenceMaxMs,
    maxResponseSize: limits.bodyMaxBytes,
  };
  const agents = new Map<string | undefined, Dispatcher>();
  const agentOf = (proxy: Secret | undefined): Dispatcher => {
    const uri = proxy?.reveal();
    const connect = { ...tls, ...patiently };
    const agent =
      agents.get(uri) ??
      (uri === undefined
        ? new Agent({ ...options, connect })
        : new ProxyAgent({
            ...{ ...options, uri, requestTls: tls, proxyTls: connect },
            // Without it, undici connects to the proxy from any address.
            clientFactory: (origin, given) => proxyPool(origin, { ...given, ...from }),
          }));
    agents.set(uri, agent);
    return agent;
  };
  const send: Transport = async ({ url, headers, onSent, proxy }) => {
    try {
      const agent = agentOf(proxy);
      const answer = await request(url, {
        method: "GET",
        headers: { ...ownHeaders, ...headers },
        dispatcher: onSent === undefined ? agent : agent.compose(tellOfSending(onSent)),
        // Includes the body, which would never time out otherwise if it came byte by byte.
        signal: AbortSignal.timeout(limits.wholeAnswerMaxMs),
      });
      const retryAfter = answer.headers["retry-after"];
      return {
        status: answer.statusCode,
        retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
        body: textOf(answer.statusCode, Buffer.from(await answer.body.arrayBuffer())),
      };
    } catch (error) {
      if (error instanceof ExchangeError) throw error;
      // The cause is left out: undici's error may hold what the server sent, which may be our own headers.
      const through = proxy === undefined ? "" : ` through the proxy ${hostOf(proxy)}`;
      const message = `no answer from ${url.host}${through}: ${reasonOf(error, limits, proxy)}`;
      throw isUntrusted(error)
        ? new ExchangeError("refused-request", `${message}; ${certificateRemedy}`)
        : new ExchangeError("unavailable", message);
    }
  };
  return Object.assign(send, {
    async [Symbol.asyncDispose]() {
      await Promise.all(Array.from(agents.values(), (agent) => agent.destroy()));
    },
  });
}

/** Where a proxy is, without its user and password. */
export const hostOf = (proxy: Secret): string => new URL(proxy.reveal()).host;

/**
 * The body as text. A byte that is not UTF-8 would be stored as U+FFFD, in a bill that looks intact, so a
 * successful answer with one is refused. The text of an error may have any encoding: it is only shown.
 */
function textOf(status: number, body: Buffer): string {
  const isSuccess = status >= 200 && status < 300;
  if (isSuccess && !isUtf8(body)) {
    throw new ExchangeError(
      "malformed",
      `the answer (HTTP ${status}) is not UTF-8: it was damaged or compressed on its way, and ` +
        "nothing of it was stored",
    );
  }
  return new TextDecoder().decode(body);
}

// undici does not decompress answers, so an uncompressed one is asked for.
const ownHeaders = { "accept-encoding": "identity", "user-agent": "bill-sync" };

/** The codes with which OpenSSL and Node refuse a certificate. */
const untrusted = /CERT|^UNABLE_TO_|SELF_SIGNED/;
const certificateRemedy =
  "its certificate does not prove that it is the exchange, so the key was not sent; check " +
  "EXCHANGE_BASE_URL, this machine's clock and any proxy in between. To trust a proxy's own " +
  "authority, set NODE_EXTRA_CA_CERTS=FILE";

const isUntrusted = (error: unknown): boolean => untrusted.test(errorCode(error) ?? "");

/** undici calls `onRequestStart` once the connection is open. Each request has a handler of its own. */
const tellOfSending =
  (onSent: () => void): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) => {
    const start = handler.onRequestStart;
    handler.onRequestStart = (...parameters) => {
      onSent();
      start?.apply(handler, parameters);
    };
    return dispatch(options, handler);
  };

/** Why no answer came, for a person: undici's own messages are about its timers and sockets. */
function reasonOf(error: unknown, limits: TransportLimits, proxy: Secret | undefined): string {
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return `the whole answer took longer than ${limits.wholeAnswerMaxMs / secondMs} s`;
  }
  const silent = `${limits.silenceMaxMs / secondMs} s`;
  switch (errorCode(error)) {
    case "UND_ERR_RES_EXCEEDED_MAX_SIZE":
      return `the body is larger than ${limits.bodyMaxBytes} bytes`;
    case "UND_ERR_CONNECT_TIMEOUT":
      return error instanceof Error && error.cause instanceof AggregateError
        ? `no connection was made, each address had ${attemptMaxMs / secondMs} s: ${shortened(error.cause)}`
        : `no connection was made within ${limits.connectMaxMs / secondMs} s`;
    case "UND_ERR_HEADERS_TIMEOUT":
      return `no answer came within ${silent}`;
    case "UND_ERR_BODY_TIMEOUT":
      return `the answer stalled for ${silent}`;
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "ERR_SSL_PACKET_LENGTH_TOO_LONG":
      return `it does not speak TLS; ${proxy?.reveal().startsWith("https:") ? "write http:// in HTTPS_PROXY" : "check EXCHANGE_BASE_URL"}`;
    case "UND_ERR_SOCKET":
      return "the connection was closed before the answer was complete";
    default: {
      const message = shortened(error).replace(
        /^Proxy response \((\d+)\).*/,
        "the proxy refused it ($1); check its address, user and password in HTTPS_PROXY",
      );
      return saysOutOfFiles(message) ? `${message}: ${openFilesRemedy}` : message;
    }
  }
}

/** Without the local address, which Node appends even where it does not know it. */
const shortened = (error: unknown): string =>
  messageOf(error).replaceAll(/ - Local \((?:undefined|:*|0\.0\.0\.0):(?:undefined|0)\)/g, "");
