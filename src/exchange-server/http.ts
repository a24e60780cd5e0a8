import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type Answer, type ApiAnswer, type ApiRequest, toAnswer, warn } from "./api.ts";
import { Refusal } from "./source.ts";

// For URL and headers together. The longest legitimate request has about 1 KiB.
const headBytesMax = 16 * 1_024;
// Longer than clients keep connections, so that the server never closes one that is being reused.
const keepAliveMs = 65_000;
const requestTimeoutMs = 30_000;

export type ApiServer = AsyncDisposable & { readonly url: string; readonly port: number };

export type ServeOptions = {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0, which takes any free port. */
  readonly port?: number;
  /** Called with an error that the answer function threw. Default a process warning. */
  readonly onError?: (error: unknown) => void;
};

/**
 * Serves an API over HTTP until it is disposed of.
 *
 * @throws the system's error where the port cannot be taken.
 */
export async function serveApi(
  answer: Answer,
  { host = "127.0.0.1", port = 0, onError = warn }: ServeOptions = {},
): Promise<ApiServer> {
  const server = createServer({
    maxHeaderSize: headBytesMax,
    keepAliveTimeout: keepAliveMs,
    requestTimeout: requestTimeoutMs,
  });
  server.on("request", (incoming, outgoing) => {
    void respond(answer, incoming, onError)
      .then((response) => sendWhole(outgoing, response))
      .catch(onError);
  });
  server.listen(port, host);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error(`no port on ${host}`);
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`,
    port: address.port,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function respond(
  answer: Answer,
  incoming: IncomingMessage,
  onError: (error: unknown) => void,
): Promise<ApiAnswer> {
  const request = readRequest(incoming);
  if (request === undefined) return refused(400, "40020", "Request URL is not valid");
  try {
    return await answer(request);
  } catch (error) {
    onError(error);
    return refused(500, "40015", "System is abnormal, please try again later");
  }
}

/** A request of Node's; undefined where its URL is not valid. */
export function readRequest({
  method,
  url,
  headers,
  socket,
}: IncomingMessage): ApiRequest | undefined {
  const target = URL.parse(url ?? "", "http://server");
  if (target === null) return undefined;
  return {
    method: method ?? "",
    path: target.pathname,
    query: Object.fromEntries(target.searchParams),
    sentQuery: sentQueryOf(url ?? ""),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value?.toString()]),
    ),
    clientAddress: socket.remoteAddress ?? "unknown",
  };
}

/** The text after the question mark, exactly as sent: `URL` would percent-encode some of it. */
const sentQueryOf = (url: string): string => {
  const at = url.indexOf("?");
  return at === -1 ? "" : (url.slice(at + 1).split("#")[0] ?? "");
};

function sendWhole(outgoing: ServerResponse, { status, headers, body }: ApiAnswer): void {
  if (outgoing.destroyed) return;
  const bytes = Buffer.from(body);
  outgoing.writeHead(status, { ...headers, "content-length": bytes.length }).end(bytes);
}

const refused = (status: number, code: string, msg: string): ApiAnswer =>
  toAnswer(new Refusal(status, code, msg), Date.now());
