import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { certificate, key } from "./certificates.ts";

/** The message of a client that wants TLS: length 8, then 80877103. */
const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** A proxy of a Postgres server that offers TLS, or says that it has none. */
export async function tlsProxyTo(
  serverUrl: string,
  { offersTls, cert = certificate }: { readonly offersTls: boolean; readonly cert?: string },
): Promise<AsyncDisposable & { readonly url: string }> {
  const { hostname, port } = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const server = createServer(async (client) => {
    sockets.add(client);
    client.on("error", () => undefined);
    const [hello] = await once(client, "data");
    if (!offersTls || !tlsRequest.equals(hello)) {
      client.end("N");
      return;
    }
    client.write("S");
    const secure = new TLSSocket(client, { isServer: true, key, cert });
    const upstream = connect(Number(port), hostname);
    sockets.add(upstream);
    for (const socket of [secure, upstream]) socket.on("error", () => client.destroy());
    secure.pipe(upstream).pipe(secure);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(serverUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
