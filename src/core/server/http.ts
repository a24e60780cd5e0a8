import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { Answer, ApiRequest } from "./api.ts";

// For URL and headers together. The longest legitimate request has about 1 KiB.
const headBytesMax = 16 * 1_024;
// Longer than clients keep connections, so that the server never closes one that is being reused.
const keepAliveMs = 65_000;
const requestTimeoutMs = 30_000;

type ApiServer = AsyncDisposable & { readonly url: string };

/**
 * Serves an API over HTTP until it is disposed of.
 *
 * @param port 0 takes any free port.
 * @throws the system's error where the port cannot be taken.
 */
export async function serveApi(answer: Answer, port: number): Promise<ApiServer> {
  const server = createServer({
    maxHeaderSize: headBytesMax,
    keepAliveTimeout: keepAliveMs,
    requestTimeout: requestTimeoutMs,
  });
  server.on("request", async (incoming, outgoing) => {
    const { status, headers, body } = await answer(readRequest(incoming));
    outgoing.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) }).end(body);
  });
  const host = "127.0.0.1";
  server.listen(port, host);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error(`no port on ${host}`);
  return {
    url: `http://${host}:${address.port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A request of Node's. A URL that is not valid is of no path. */
export function readRequest({
  method = "",
  url = "",
  headers,
  socket,
}: IncomingMessage): ApiRequest {
  const target = URL.parse(url, "http://server");
  return {
    ...{ method, path: target?.pathname ?? "" },
    query: Object.fromEntries(target?.searchParams ?? []),
    sentQuery: sentQueryOf(url),
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
