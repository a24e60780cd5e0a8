import type { FastifyRequest } from "fastify";

const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];

/** Where a request says that it goes, and where it comes from. */
export type Approach = {
  readonly host: string | undefined;
  /** An IP address. */
  readonly from: string | undefined;
};

/**
 * Whether the page may be shown: it has no password of its own. To this machine by its own names
 * alone: a foreign site's name that was made to lead here (DNS rebinding) is refused. To others only
 * by names that the user gave to a proxy that asks them who they are.
 */
export function isShownTo({ host, from }: Approach, names: readonly string[]): boolean {
  const name = host?.replace(/:\d+$/, "").toLowerCase();
  if (name === undefined) return false;
  return names.includes(name) || (loopbackNames.includes(name) && isLoopback(from));
}

const isLoopback = (address: string | undefined): boolean =>
  address !== undefined && /^(?:::ffff:)?127\.|^::1$/.test(address);

export const approachOf = ({ headers, socket }: FastifyRequest): Approach => ({
  host: headers.host,
  from: socket.remoteAddress,
});
