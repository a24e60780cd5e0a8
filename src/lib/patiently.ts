import { type NetConnectOpts, Socket } from "node:net";
import { secondMs } from "./time.ts";

/**
 * How long a connection to one address of a name may take before the next address is tried. Node gives each but the last
 * one 250 ms: where a round trip takes longer and the last one is IPv6, which the machine does not have, no connection
 * was ever made. Three seconds are enough for a lost packet, which is sent again after one.
 */
export const attemptMaxMs = 3 * secondMs;

export const patiently = {
  autoSelectFamilyAttemptTimeout: attemptMaxMs,
} as const satisfies Partial<NetConnectOpts>;

/** A socket whose connections are made so, for a driver that cannot be told. */
export function patientSocket(): Socket {
  const socket = new Socket();
  const connect = socket.connect.bind(socket);
  return Object.assign(socket, {
    /** @param place a port, or the path of a socket. */
    connect: (place: number | string, host = "localhost") =>
      typeof place === "string" ? connect(place) : connect({ port: place, host, ...patiently }),
  });
}
