// A database that answers nothing, not even a new connection, is reported as silent.

import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, test, vi } from "vitest";
import { openDatabase } from "../src/db/connect.ts";
import { connectMaxMs } from "../src/db/connections.ts";
import { withDatabaseErrors } from "../src/db/database-errors.ts";
import { DatabaseSilentError, messageOf } from "../src/errors.ts";

test("a server that takes connections and says nothing is given up on in one time limit by all", async () => {
  await using server = await silentServer();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  using _ = { [Symbol.dispose]: () => vi.useRealTimers() };
  await using database = openDatabase(server.url);
  const asked = [1, 2, 3].map((number) =>
    withDatabaseErrors(() => database.db.execute(`select ${number}`)),
  );
  await server.hasThree;
  vi.advanceTimersByTime(connectMaxMs);
  for (const outcome of await Promise.allSettled(asked)) {
    const reason: unknown = outcome.status === "rejected" ? outcome.reason : undefined;
    expect(reason).toBeInstanceOf(DatabaseSilentError);
    expect(messageOf(reason)).toContain("the server does not answer; check the network");
  }
});

async function silentServer() {
  const connections = new Set<Socket>();
  const three = Promise.withResolvers<void>();
  const server = createServer((connection) => {
    connections.add(connection);
    if (connections.size === 3) three.resolve();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    hasThree: three.promise,
    url: `postgres://nobody@127.0.0.1:${port}/nothing?sslmode=disable`,
    async [Symbol.asyncDispose]() {
      for (const connection of connections) connection.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
