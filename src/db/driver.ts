import pg from "pg";

// What the driver has, and its types lack.

/** Call it while no statement is under way. The driver's types allow it only as an option of the pool. */
export const pipeline = (client: pg.PoolClient, isPipelined: boolean): void =>
  void Object.assign(client, { pipeline: isPipelined });

/** The driver's connection of a client. Its types have it on a class that they do not export. */
export function connectionOf(client: pg.PoolClient): pg.Connection {
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
