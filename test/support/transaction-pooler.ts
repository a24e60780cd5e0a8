import { Socket } from "node:net";
import { Client } from "pg";
import { byMessage, type Front, frontOf, typeOf } from "./tcp-proxy.ts";

type User = { receive(message: Buffer): void; lose(): void };
type Server = { readonly socket: Socket; readonly number: number; user: User | undefined };
type Pool = { take(user: User): Promise<Server>; giveBack(server: Server): void };

// The first message of a client, unless it asks for TLS, or to cancel a statement.
const protocol3 = 196_608;

/**
 * A pooler in transaction mode, like PgBouncer: a client has a server connection for one transaction.
 * Gives `serversMax` connections to any number of clients. It reads only the part of the protocol
 * that is needed for that: a transaction is over when the server is ready outside a transaction
 * (`I`), and all messages are answered. It keeps no session: what a client sets beyond a
 * transaction, another client gets.
 */
export async function transactionPooler(
  serverUrl: string,
  { serversMax }: { readonly serversMax: number },
) {
  const turns: number[] = [];
  let front: Front | undefined;
  const pool = openPool(serversMax, turns, async () => {
    const socket = await logIn(serverUrl);
    return front?.keep(socket) ?? socket;
  });
  front = await frontOf(serverUrl, (client) => serve(client.setNoDelay(), pool));
  // How many transactions, or statements outside of one, each server connection has run.
  return { url: front.url, turns, [Symbol.asyncDispose]: () => front[Symbol.asyncDispose]() };
}

/** The driver signs in, with any method of the server; from then on its socket is used directly. */
async function logIn(serverUrl: string): Promise<Socket> {
  const socket = new Socket();
  await new Client({ connectionString: serverUrl, stream: () => socket }).connect();
  return socket.removeAllListeners();
}

function openPool(serversMax: number, turns: number[], logIn: () => Promise<Socket>): Pool {
  // The connection that was used last is used next, as in PgBouncer.
  const idle: Server[] = [];
  const waiting: ((server: Server | Promise<Server>) => void)[] = [];
  let opened = 0;
  const close = () => {
    opened -= 1;
    waiting.shift()?.(open());
  };
  const open = async (): Promise<Server> => {
    opened += 1;
    const socket = await logIn().catch((error: unknown) => {
      close();
      throw error;
    });
    const server: Server = { socket, number: turns.push(0) - 1, user: undefined };
    socket.on(
      "data",
      byMessage((message) => server.user?.receive(message)),
    );
    socket.on("close", () => {
      server.user?.lose();
      const place = idle.indexOf(server);
      if (place >= 0) idle.splice(place, 1);
      close();
    });
    return server;
  };
  const find = (): Promise<Server> => {
    const server = idle.pop();
    if (server !== undefined) return Promise.resolve(server);
    return opened < serversMax ? open() : new Promise((settle) => waiting.push(settle));
  };
  return {
    take: async (user) => Object.assign(await find(), { user }),
    giveBack(server) {
      server.user = undefined;
      turns[server.number] = (turns[server.number] ?? 0) + 1;
      const next = waiting.shift();
      if (next === undefined) idle.push(server);
      else next(server);
    },
  };
}

/** One client, from its first message on. */
function serve(client: Socket, pool: Pool): void {
  let server: Promise<Server> | undefined;
  let unanswered = 0;
  const receive = (message: Buffer) => {
    client.write(message);
    if (typeOf(message) !== "Z") return;
    unanswered -= 1;
    if (unanswered > 0 || message.toString("latin1", 5) !== "I") return;
    void server?.then(pool.giveBack);
    server = undefined;
  };
  const ask = (message: Buffer) => {
    const type = typeOf(message);
    // A query, or the end of a batch of the extended protocol: each is answered by one Z.
    if (type === "Q" || type === "S") unanswered += 1;
    if (type === "X") client.end();
    if (type === "X" || client.destroyed) return;
    server ??= pool.take({ receive, lose: () => client.destroy() });
    server.then(
      ({ socket }) => socket.write(message),
      () => client.destroy(),
    );
  };
  client.once("data", (startup: Buffer) => {
    if (startup.readInt32BE(4) !== protocol3) return client.destroy();
    client.on("data", byMessage(ask));
    // The client is admitted, with a made-up process number, and nothing is under way.
    const number = Buffer.concat([int32(client.remotePort ?? 0), int32(0)]);
    client.write(Buffer.concat([frame("R", int32(0)), frame("K", number), frame("Z", "I")]));
  });
  // In the middle of a transaction: when its connection closes, the server rolls back.
  client.on("close", () => server?.then(({ socket }) => socket.destroy()).catch(() => undefined));
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

const frame = (type: string, body: Buffer | string): Buffer =>
  Buffer.concat([Buffer.from(type), int32(4 + body.length), Buffer.from(body)]);
