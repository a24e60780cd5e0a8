import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { TLSSocket } from "node:tls";

/** A certificate that nobody signed, for localhost and 127.0.0.1, valid until 2126. */
export const certificate = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUF7gzwmEu9aYisNvTjz7ueXPsDZ8wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTA3NTAwMVoYDzIxMjYxMDI4
MDc1MDAxWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARf6uc8Mahykna7tB16TAYKp9QaTUgIJOMTGY6T19cFMcWV5JMteTQj
3/wNHDhdtqRzKXPwYYFGYORomxyJq+buo28wbTAdBgNVHQ4EFgQUX4KOrB7CynMc
yyJmjofgl60p6cEwHwYDVR0jBBgwFoAUX4KOrB7CynMcyyJmjofgl60p6cEwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIhAJaA0nxjYjgXFPg/T6DFbrPn84oW7a5LKJVwP3/X8FhYAiAi
+UgTUY4ne4WMa1aof3Ee28o5YnPQAbNOwDcJ9afZTQ==
-----END CERTIFICATE-----
`;

/** Its key: made for these tests, and known to everybody. */
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgk7sL2U7UZP7ADXc4
WELVyPhlNFkt+T++NEF3/U5ErxmhRANCAARf6uc8Mahykna7tB16TAYKp9QaTUgI
JOMTGY6T19cFMcWV5JMteTQj3/wNHDhdtqRzKXPwYYFGYORomxyJq+bu
-----END PRIVATE KEY-----
`;

/** What a client sends that wants TLS: length 8, then 80877103. */
const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** A way to a Postgres server that offers TLS, or says that it has none. */
export async function tlsProxyTo(
  serverUrl: string,
  { offersTls }: { readonly offersTls: boolean },
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
    const secure = new TLSSocket(client, { isServer: true, key, cert: certificate });
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
