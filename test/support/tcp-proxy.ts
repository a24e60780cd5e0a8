import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { TLSSocket } from "node:tls";
import { certificate, key } from "./certificates.ts";
import { listening } from "./listening.ts";

/** A server on this machine that stands in front of another. */
export type Front = Awaited<ReturnType<typeof frontOf>>;

/** @param accept called with each connection, and with what opens one to the other server. */
export async function frontOf(
  serverUrl: string,
  accept: (client: Socket, open: () => Socket) => void,
) {
  const url = new URL(serverUrl);
  const { hostname, port } = url;
  const server = createServer((client) =>
    accept(client, () => front.keep(connect(Number(port), hostname))),
  );
  const front = await listening(server);
  url.host = front.host;
  /** The other server's URL, through this one. */
  return { ...front, url: url.href };
}

/**
 * Splits a stream into messages: one byte of type, then the length of the rest including itself.
 */
export function byMessage(use: (message: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
      const length = 1 + rest.readInt32BE(1);
      const message = rest.subarray(0, length);
      rest = rest.subarray(length);
      use(message);
    }
  };
}

export const typeOf = (message: Buffer): string => message.toString("latin1", 0, 1);

/** A proxy of a Postgres server that cuts connections where the test says so. */
export async function proxyTo(
  serverUrl: string,
  /** Called with what is sent to the server, before it is passed on. */
  onSent: (sent: string) => unknown = () => undefined,
  /** Called with what the server sends on a connection. */
  onAnswer: (connection: object, chunk: Buffer) => void = () => undefined,
) {
  let isCutOff = false;
  const front = await frontOf(serverUrl, (client, open) => {
    if (isCutOff) {
      client.resetAndDestroy();
      return;
    }
    const upstream = open();
    client.on("data", async (chunk: Buffer) => {
      client.pause();
      await onSent(chunk.toString("latin1"));
      client.resume();
      upstream.write(chunk);
    });
    upstream.on("data", (chunk: Buffer) => {
      onAnswer(upstream, chunk);
      client.write(chunk);
    });
    client.on("close", () => upstream.end());
    upstream.on("close", () => client.destroy());
  });
  return {
    url: front.url,
    /** Cuts every connection, and every new one until `resume`. */
    cutOff() {
      isCutOff = true;
      for (const socket of front.sockets) socket.resetAndDestroy();
    },
    resume() {
      isCutOff = false;
    },
    [Symbol.asyncDispose]: () => front[Symbol.asyncDispose](),
  };
}

/** The message of a client that wants TLS: length 8, then 80877103. */
const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** A proxy of a Postgres server that offers TLS, or says that it has none. */
export async function tlsProxyTo(
  serverUrl: string,
  { offersTls, cert = certificate }: { readonly offersTls: boolean; readonly cert?: string },
): Promise<AsyncDisposable & { readonly url: string }> {
  return await frontOf(serverUrl, async (client, open) => {
    const [hello] = await once(client, "data");
    if (!offersTls || !tlsRequest.equals(hello)) {
      client.end("N");
      return;
    }
    client.write("S");
    const secure = new TLSSocket(client, { isServer: true, key, cert });
    const upstream = open();
    for (const socket of [secure, upstream]) socket.on("error", () => client.destroy());
    secure.pipe(upstream).pipe(secure);
  });
}

/** The distance of a server, and the bandwidth of its line. */
export type Link = {
  readonly roundTripMs: number;
  /** For each direction, shared by all connections packet by packet. Default without a limit. */
  readonly bytesPerSecond?: number;
};

const packetBytes = 1_400;
// How much a sender may have in flight before it waits, as with TCP.
const windowBytes = 65_536;

/** Proxies a Postgres server and delays each byte by half a round trip, in order. */
export async function distantServer(serverUrl: string, link: Link) {
  const lines = { there: new Line(link), back: new Line(link) };
  let [now, most] = [0, 0];
  const front = await frontOf(serverUrl, (client, open) => {
    now += 1;
    most = Math.max(most, now);
    const upstream = open().setNoDelay();
    lines.there.carry(client.setNoDelay(), upstream);
    lines.back.carry(upstream, client);
    client.on("close", () => {
      now -= 1;
    });
  });
  return {
    url: front.url,
    /** How many connections are open, and the most that were open. */
    connections: () => ({ now, most }),
    [Symbol.asyncDispose]: () => front[Symbol.asyncDispose](),
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
