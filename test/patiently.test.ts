import { spawn } from "node:child_process";
import dns from "node:dns";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { openTransport } from "../src/core/exchange/transport.ts";
import { openDatabase } from "../src/core/postgres/connect.ts";
import { messageOf } from "../src/lib/errors.ts";

const { lookup } = dns;
afterEach(() => {
  dns.lookup = lookup;
});

/** Names this machine with an IPv6 address to which nothing leads, as a name server may. */
function nameBoth(): void {
  const both = [
    { address: "127.0.0.1", family: 4 },
    { address: "100::1", family: 6 },
  ];
  const answer = (_name: string, _options: object, done: (...found: unknown[]) => void) =>
    done(null, both);
  Object.assign(dns, { lookup: answer });
}

const server = `
  const server = require("node:net").createServer((socket) => socket.end("no\\n"));
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => console.log(server.address().port));`;

/** A server that takes no connection until it goes on, as one at the end of a slow line. */
async function slowServer() {
  const child = spawn(process.execPath, ["-e", server], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(child.stdout, "data");
  const port = Number(String(line));
  child.kill("SIGSTOP");
  const waiting: Socket[] = [];
  for (let filled = 0; filled < 4; filled++)
    waiting.push(connect(port, "127.0.0.1").on("error", () => undefined));
  await sleep(100);
  return {
    port,
    goOn: () => child.kill("SIGCONT"),
    async [Symbol.asyncDispose]() {
      for (const socket of waiting) socket.destroy();
      child.kill("SIGKILL");
      await once(child, "close");
    },
  };
}

test.each([
  [
    "the exchange",
    async (port: number) => {
      await using transport = openTransport();
      await transport({ url: new URL(`http://both.test:${port}`), headers: {} });
    },
  ],
  [
    "the database",
    async (port: number) => {
      await using database = openDatabase(`postgres://a:b@both.test:${port}/c?sslmode=disable`);
      await database.db.$client.connect();
    },
  ],
])(
  "%s is connected to over IPv4 after a second, where the name's last address is IPv6 and leads nowhere",
  async (_, ask) => {
    await using slow = await slowServer();
    nameBoth();
    const asked = ask(slow.port).then(String, messageOf);
    await sleep(600);
    slow.goOn();
    expect(await asked).not.toMatch(/ETIMEDOUT|UNREACH|no connection/);
  },
);
