// What clients cost serve who read no answer, or never end a request, is bounded, and health answers.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { openDatabase, readOnly } from "../src/core/postgres/connect.ts";
import { dayMs } from "../src/lib/time.ts";
import { createApp, listen } from "../src/wings/serve/app.ts";
import { answersMax, answersOfConnectionMax } from "../src/wings/serve/load.ts";
import { fileDatabase } from "./support/database.ts";
import { serverDeps } from "./support/server-deps.ts";
import { coverLedger } from "./support/stored-ledger.ts";

const { db, url: databaseUrl } = await fileDatabase();
await coverLedger(
  db,
  { account: "main", productType: "USDT-FUTURES" },
  Date.now() - dayMs,
  Date.now(),
);

let sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
});

/** The server, which counts what it renders. Pages hold their connection until the gate opens. */
async function openServer(gate: Promise<void> = Promise.resolve()) {
  const reader = openDatabase(databaseUrl);
  const counts = { begun: 0, atOnce: 0, atOnceMost: 0 };
  const read = readOnly(reader.db);
  const app = createApp(
    serverDeps(reader.db, {
      read: async (work, options) => {
        counts.begun++;
        counts.atOnceMost = Math.max(counts.atOnceMost, ++counts.atOnce);
        return read((tx) => gate.then(() => work(tx)), options).finally(() => {
          counts.atOnce--;
        });
      },
    }),
  );
  const listening = await listen(app, { host: "127.0.0.1", port: 0 });
  return {
    url: listening.url,
    counts,
    async [Symbol.asyncDispose]() {
      await listening[Symbol.asyncDispose]();
      await reader[Symbol.asyncDispose]();
    },
  };
}

/** Opens a connection that sends a text and reads nothing. */
async function stall(url: string, text: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  sockets.push(socket);
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.pause();
  socket.write(text);
  return socket;
}

const patiently: typeof expect.poll = (read) => expect.poll(read, { timeout: 30_000 });

const requestOf = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;

const health = (url: string) =>
  Promise.all(["/healthz", "/readyz"].map((path) => fetch(url + path).then((a) => a.json())));

const healthy = [{ status: "up" }, { status: "ready", database: "up", freshness: "fresh" }];

test("a connection that sends hundreds of requests and reads nothing is rendered at most a few pages", async () => {
  await using server = await openServer();
  const connections = 30;
  await Promise.all(
    Array.from({ length: connections }, () => stall(server.url, requestOf("/bills").repeat(300))),
  );
  expect(await health(server.url)).toEqual(healthy);
  await patiently(() => server.counts.atOnce).toBe(0);
  expect(server.counts.begun).toBeLessThanOrEqual(connections * answersOfConnectionMax);
  expect(server.counts.atOnceMost).toBeLessThanOrEqual(answersMax);
});

test("requests beyond the limit are shed with 503 and Retry-After, and health answers", async () => {
  const gate = Promise.withResolvers<void>();
  await using server = await openServer(gate.promise);
  const get = (path: string) => fetch(server.url + path);
  const stalled = Array.from({ length: answersMax }, () => stall(server.url, requestOf("/bills")));
  await Promise.all(stalled);
  await patiently(() => server.counts.atOnce).toBe(answersMax);
  const shed = await get("/bills");
  expect([shed.status, shed.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await health(server.url)).toEqual(healthy);
  expect(server.counts.begun).toBe(answersMax);
  gate.resolve();
  await patiently(async () => (await get("/bills")).status).toBe(200);
});

test("clients who ask and leave do not add up to more reads than the limit", async () => {
  const gate = Promise.withResolvers<void>();
  await using server = await openServer(gate.promise);
  const leave = () => Promise.all(sockets.map((socket) => once(socket.destroy(), "close")));
  for (let round = 0; round < 3; round++) {
    await Promise.all(Array.from({ length: 100 }, () => stall(server.url, requestOf("/bills"))));
    await patiently(() => server.counts.begun).toBe(Math.min(100 * (round + 1), answersMax));
    await leave();
    sockets = [];
  }
  expect(await health(server.url)).toEqual(healthy);
  gate.resolve();
});

test("requests that are sent at once on one connection are answered in order, those beyond the limit by 503", async () => {
  await using server = await openServer();
  const socket = await stall(server.url, requestOf("/bills").repeat(answersOfConnectionMax + 1));
  let text = "";
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
  });
  socket.resume();
  await once(socket, "close");
  expect(text.match(/HTTP\/1\.1 \d{3}/g)).toEqual([
    ...Array.from({ length: answersOfConnectionMax }, () => "HTTP/1.1 200"),
    "HTTP/1.1 503",
  ]);
  expect(text).toMatch(/retry-after: 5\r\n/);
});

test("a request whose head never ends is closed within 10 s", { timeout: 10_000 }, async () => {
  await using server = await openServer();
  const socket = await stall(server.url, "GET / HTTP/1.1\r\nhost: loc");
  socket.resume();
  await once(socket, "close");
});
