import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";

/** Lets a server listen at a port of this machine; it is closed with all its connections. */
export async function listening(server: Server, port = 0) {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on("error", () => undefined);
  };
  server.prependListener("connection", keep);
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    sockets,
    /** Closes a socket with this server. */
    keep,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      if (!server.listening) return;
      server.close();
      await once(server, "close");
    },
  };
}

/** A port of this machine on which nothing listens. */
export async function closedPort(): Promise<number> {
  await using open = await listening(createServer());
  return Number(open.host.split(":")[1]);
}
