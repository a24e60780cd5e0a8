import type { FastifyRequest } from "fastify";

const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];

/** The host that a request names, and where the request comes from. */
export type Approach = {
  readonly host: string | undefined;
  /** An IP address. */
  readonly from: string | undefined;
};

/**
 * Whether a request may see the page, which has no password of its own. This machine may, but only
 * under its own names: another site's name that was made to resolve to it (DNS rebinding) is
 * refused. Others may only under names that the user assigned to an authenticating proxy.
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
