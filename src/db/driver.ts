import { TLSSocket } from "node:tls";
import pg from "pg";

const clearTextRefusal =
  "the server asks for the password in clear text, and the connection has no TLS";

/**
 * A client that sends its password in clear text through TLS only. The driver sends it to whoever asks:
 * without TLS, that may be any program which listens at the address.
 */
export class GuardedClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    const connection = connectionOf(this);
    // Before the client's own listener, which then writes to a closed connection.
    connection.prependListener("authenticationCleartextPassword", () => {
      const { stream } = connection;
      if (!(stream instanceof TLSSocket)) stream.destroy(new Error(clearTextRefusal));
    });
  }
}

// What the driver has, and its types lack.

/** Call it while no statement is under way. The driver's types allow it only as an option of the pool. */
export const pipeline = (client: pg.PoolClient, isPipelined: boolean): void =>
  void Object.assign(client, { pipeline: isPipelined });

/** The driver's connection of a client. Its types have it on a class that they do not export. */
export function connectionOf(client: pg.ClientBase): pg.Connection {
  if ("connection" in client && client.connection instanceof pg.Connection)
    return client.connection;
  throw new Error("defect: the driver keeps its connection elsewhere");
}

/** Where the driver looks, with each statement, for how long to wait. Its types do not have it. */
export function limitsOf(client: pg.PoolClient): { query_timeout?: unknown } {
  if ("connectionParameters" in client && client.connectionParameters instanceof Object)
    return client.connectionParameters;
  throw new Error("defect: the driver keeps its limits elsewhere");
}

/** The server's host, or the folder of its socket, and the port of a client. */
export function addressOf(client: pg.PoolClient): { readonly host: string; readonly port: number } {
  if (client instanceof pg.Client) return client;
  throw new Error("defect: the driver keeps its address elsewhere");
}
