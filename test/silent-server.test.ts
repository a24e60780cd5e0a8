// A database that answers nothing, not even a new connection, is reported as silent.
// No password goes in clear text to a server that asks for it, unless through TLS.

import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { describe, expect, test, vi } from "vitest";
import { openDatabase } from "../src/core/postgres/connect.ts";
import { connectMaxMs } from "../src/core/postgres/connections.ts";
import { withDatabaseErrors } from "../src/core/postgres/database-errors.ts";
import { DatabaseSilentError, messageOf } from "../src/lib/errors.ts";
import { certificate, key } from "./support/certificates.ts";
import { listening } from "./support/listening.ts";

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
  let connections = 0;
  const three = Promise.withResolvers<void>();
  const server = await listening(createServer(() => ++connections === 3 && three.resolve()));
  const url = `postgres://nobody@${server.host}/nothing?sslmode=disable`;
  return { ...server, hasThree: three.promise, url };
}

describe("a server that asks for the password", () => {
  const password = "hunter2-and-more";
  const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
  /** AuthenticationCleartextPassword. */
  const clearTextAsked = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);

  /** Any program that listens at the address: it asks for the password in clear text, and notes what comes. */
  async function stranger(): Promise<AsyncDisposable & { readonly url: string; heard(): string }> {
    let heard = "";
    const listen = async (socket: Socket) => {
      socket.on("error", () => undefined);
      await once(socket, "data");
      socket.write(clearTextAsked);
      socket.on("data", (chunk) => {
        heard += chunk.toString("latin1");
        socket.destroy();
      });
    };
    const server = createServer(async (socket) => {
      const [hello] = await once(socket, "data");
      if (!tlsRequest.equals(hello)) {
        socket.unshift(hello);
        return void listen(socket);
      }
      socket.write("S");
      void listen(new TLSSocket(socket, { isServer: true, key, cert: certificate }));
    });
    const open = await listening(server);
    const url = `postgres://bill_sync:${password}@${open.host}/ledger`;
    return { ...open, url, heard: () => heard };
  }

  test("a server that asks for the password in clear text gets nothing where the connection has no TLS", async () => {
    await using server = await stranger();
    await using database = openDatabase(server.url);
    const asking = withDatabaseErrors(() => database.db.execute("select 1"));
    const message = await asking.catch(messageOf);
    expect(message).toMatch(/asks for the password in clear text.*scram-sha-256.*sslmode/);
    expect(message).not.toContain(password);
    expect(server.heard()).toBe("");
  });

  test("through TLS the password is sent as the server asks for it", async () => {
    await using server = await stranger();
    await using database = openDatabase(`${server.url}?sslmode=no-verify`);
    await expect(database.db.execute("select 1")).rejects.toThrow();
    expect(server.heard()).toContain(password);
  });
});
