import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** The distance of a server, and the bandwidth of its line. */
export type Link = {
  readonly roundTripMs: number;
  /** For each direction, shared by all connections packet by packet. Default without a limit. */
  readonly bytesPerSecond?: number;
};

export type DistantServer = AsyncDisposable & {
  /** The server's URL, through this line. */
  readonly url: string;
  /** How many connections are open, and the most that were open. */
  readonly connections: () => { readonly now: number; readonly most: number };
};

const packetBytes = 1_400;
// How much a sender may have in flight before it waits, as with TCP.
const windowBytes = 65_536;

/** Proxies a Postgres server and delays each byte by half a round trip, in order. */
export async function distantServer(serverUrl: string, link: Link): Promise<DistantServer> {
  const { hostname, port } = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const lines = { there: new Line(link), back: new Line(link) };
  let [now, most] = [0, 0];
  const keep = (socket: Socket): Socket => {
    sockets.add(socket.setNoDelay());
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    return socket;
  };
  const server = createServer((client) => {
    now += 1;
    most = Math.max(most, now);
    const upstream = keep(connect(Number(port), hostname));
    lines.there.carry(keep(client), upstream);
    lines.back.carry(upstream, client);
    client.on("close", () => {
      now -= 1;
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(serverUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    connections: () => ({ now, most }),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

type Sending = { readonly to: Socket; readonly from: Socket; waiting: Buffer[]; bytes: number };

/** One direction. */
class Line {
  readonly #delayMs: number;
  readonly #bytesPerMs: number;
  readonly #sending: Sending[] = [];
  #freeAt = 0;
  #isBusy = false;

  constructor({ roundTripMs, bytesPerSecond = Number.POSITIVE_INFINITY }: Link) {
    this.#delayMs = roundTripMs / 2;
    this.#bytesPerMs = bytesPerSecond / 1_000;
  }

  carry(from: Socket, to: Socket): void {
    const sending: Sending = { from, to, waiting: [], bytes: 0 };
    from.on("data", (chunk: Buffer) => {
      if (sending.bytes === 0) this.#sending.push(sending);
      for (let at = 0; at < chunk.length; at += packetBytes) {
        sending.waiting.push(chunk.subarray(at, at + packetBytes));
      }
      sending.bytes += chunk.length;
      if (sending.bytes >= windowBytes) from.pause();
      if (!this.#isBusy) void this.#send();
    });
    // After everything that is in flight.
    from.on("end", () => setTimeout(() => to.end(), this.#delayMs));
    from.on("close", () => setTimeout(() => to.destroy(), this.#delayMs));
  }

  /** Takes a packet of each sender in turn, as fast as the line allows. */
  async #send(): Promise<void> {
    this.#isBusy = true;
    for (;;) {
      const sending = this.#sending.shift();
      const packet = sending?.waiting.shift();
      if (sending === undefined || packet === undefined) break;
      this.#freeAt = Math.max(performance.now(), this.#freeAt) + packet.length / this.#bytesPerMs;
      if (this.#freeAt - performance.now() > 1) await sleep(this.#freeAt - performance.now());
      sending.bytes -= packet.length;
      if (sending.bytes > 0) this.#sending.push(sending);
      if (sending.bytes < windowBytes) sending.from.resume();
      setTimeout(() => sending.to.write(packet), this.#delayMs);
    }
    this.#isBusy = false;
  }
}
