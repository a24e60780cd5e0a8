import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** What becomes of a connection when its client sends something. */
export type Fate =
  | "pass"
  /** Cut; the server never hears of it. */
  | "cut before"
  /** Handed on, and cut before the answer. */
  | "cut in"
  /** Handed on, and cut once the server has answered. */
  | "cut after";

export type TcpProxy = AsyncDisposable & {
  /** The server's URL, by way of this proxy. */
  readonly url: string;
  /** Cuts every connection, and every new one until {@link TcpProxy.resume}. */
  cutOff(): void;
  resume(): void;
};

/** A way to a Postgres server that breaks where the test says so. */
export async function proxyTo(
  serverUrl: string,
  fateOf: (sent: string) => Fate | Promise<Fate> = () => "pass",
  /** Told what the server sends on a connection. */
  onAnswer: (connection: object, chunk: Buffer) => void = () => undefined,
): Promise<TcpProxy> {
  const { hostname, port } = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let isCutOff = false;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    return socket;
  };
  const server = createServer((client) => {
    keep(client);
    if (isCutOff) {
      client.resetAndDestroy();
      return;
    }
    const upstream = keep(connect(Number(port), hostname));
    let isAnswerLost = false;
    const cut = () => {
      client.resetAndDestroy();
      upstream.end();
    };
    client.on("data", async (chunk: Buffer) => {
      client.pause();
      const fate = await fateOf(chunk.toString("latin1"));
      client.resume();
      if (fate === "cut before") return cut();
      if (fate === "cut after") isAnswerLost = true;
      upstream.write(chunk, fate === "cut in" ? cut : undefined);
    });
    upstream.on("data", (chunk: Buffer) => {
      onAnswer(upstream, chunk);
      if (isAnswerLost) cut();
      else client.write(chunk);
    });
    client.on("close", () => upstream.end());
    upstream.on("close", () => client.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(serverUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    cutOff() {
      isCutOff = true;
      for (const socket of sockets) socket.resetAndDestroy();
    },
    resume() {
      isCutOff = false;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      if (!server.listening) return;
      server.close();
      await once(server, "close");
    },
  };
}
