import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** What happens to a connection when its client sends something. */
export type Fate =
  | "pass"
  /** It is cut; the server never receives it. */
  | "cut before"
  /** It is passed on, and cut before the answer. */
  | "cut in"
  /** It is passed on, and cut once the server has answered. */
  | "cut after";

export type TcpProxy = AsyncDisposable & {
  /** The server's URL, through this proxy. */
  readonly url: string;
  /** Cuts every connection, and every new one until {@link TcpProxy.resume}. */
  cutOff(): void;
  /** From now on takes connections and what is sent, and passes nothing on. */
  freeze(): void;
  resume(): void;
};

/** A proxy of a Postgres server that cuts or freezes connections where the test says so. */
export async function proxyTo(
  serverUrl: string,
  fateOf: (sent: string) => Fate | Promise<Fate> = () => "pass",
  /** Called with what the server sends on a connection. */
  onAnswer: (connection: object, chunk: Buffer) => void = () => undefined,
): Promise<TcpProxy> {
  const { hostname, port } = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let isCutOff = false;
  let isFrozen = false;
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
    if (isFrozen) return;
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
      if (isFrozen) return;
      upstream.write(chunk, fate === "cut in" ? cut : undefined);
    });
    upstream.on("data", (chunk: Buffer) => {
      if (isFrozen) return;
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
    freeze() {
      isFrozen = true;
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
