// No password goes in clear text to a server that asks for it, unless through TLS.

import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { openDatabase } from "../src/db/connect.ts";
import { withDatabaseErrors } from "../src/db/database-errors.ts";
import { messageOf } from "../src/errors.ts";
import { certificate, key } from "./support/certificates.ts";

const password = "hunter2-and-more";
const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
/** AuthenticationCleartextPassword. */
const clearTextAsked = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);

/** Any program that listens at the address: it asks for the password in clear text, and notes what comes. */
async function stranger(): Promise<AsyncDisposable & { readonly url: string; heard(): string }> {
  const sockets = new Set<Socket>();
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
    sockets.add(socket);
    socket.on("error", () => undefined);
    const [hello] = await once(socket, "data");
    if (!tlsRequest.equals(hello)) {
      socket.unshift(hello);
      return void listen(socket);
    }
    socket.write("S");
    void listen(new TLSSocket(socket, { isServer: true, key, cert: certificate }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgres://bill_sync:${password}@127.0.0.1:${port}/ledger`,
    heard: () => heard,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
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
