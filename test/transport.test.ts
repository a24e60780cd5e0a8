// Holds: Within the limit, Bounded

import { createServer, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { accountBills } from "../src/core/contract/account-bills.ts";
import {
  openTransport,
  type TransportLimits,
  transportLimits,
} from "../src/core/exchange/transport.ts";
import { emptyPage, give, openClient, type Responder, serve } from "./support/exchange-client.ts";
import { listening } from "./support/listening.ts";

/** Sends one request, without a client around it. */
async function get(url: string, limits: Partial<TransportLimits> = {}) {
  await using transport = openTransport({ ...transportLimits, ...limits });
  return await transport({ url: new URL(url), headers: {} });
}

const mebibyte = 1_024 * 1_024;

/** Headers at once, then a byte every few milliseconds as long as the client listens. */
const dribble: Responder = (response) => {
  const timer = setInterval(() => response.write("x"), 5);
  response.on("close", () => clearInterval(timer));
};

describe("an answer", () => {
  test("comes back whole, whatever its status, with its Retry-After", async () => {
    await using server = await serve((response) =>
      give(response, { status: 429, headers: { "retry-after": "3" }, body: "\ufeffnaïve 注文" }),
    );
    expect(await get(server.url)).toEqual({ status: 429, retryAfter: "3", body: "naïve 注文" });
  });

  test("that is no UTF-8 is malformed where it would be taken in, and shown where it is an error", async () => {
    const body = Buffer.from(
      '{"code":"00000","data":{"bills":[{"symbol":"BTC?"}]}}'.replace("?", "\xff"),
      "latin1",
    );
    await using server = await serve((response, { url }) =>
      response.writeHead(url === "/error" ? 502 : 200).end(body),
    );
    const message = expect.stringMatching(/^the answer \(HTTP 200\) is not UTF-8: /);
    await expect(get(server.url)).rejects.toMatchObject({ kind: "malformed", message });
    expect((await get(`${server.url}/error`)).body).toContain("BTC\ufffd");
  });

  test("is preceded by one word that the request has left, and none where it could not", async () => {
    const server = await serve((response) => give(response, emptyPage));
    await using known = openTransport();
    await using unconnected = openTransport();
    const events: string[] = [];
    const ask = (transport = known) =>
      transport({ url: new URL(server.url), headers: {}, onSent: () => events.push("sent") })
        .then(({ status }) => events.push(`answered ${status}`))
        .catch(() => events.push("failed"));
    await ask();
    await ask();
    await server[Symbol.asyncDispose]();
    await ask(unconnected);
    expect(events).toEqual(["sent", "answered 200", "sent", "answered 200", "failed"]);
  });

  test("of 16 MiB is read and one of a byte more is refused, whether its length is told or not", async () => {
    await using server = await serve((response, request) => {
      const size = 16 * mebibyte + (request.url === "/more" || request.url === "/told" ? 1 : 0);
      if (request.url === "/told") response.setHeader("content-length", size);
      response.write(Buffer.alloc(size - 1, 32));
      response.end("x");
    });
    expect((await get(server.url)).body).toHaveLength(16 * mebibyte);
    for (const path of ["/more", "/told"]) {
      await expect(get(`${server.url}${path}`)).rejects.toMatchObject({
        kind: "unavailable",
        message: expect.stringContaining("the body is larger than 16777216 bytes"),
      });
    }
  });

  test("that dribbles in is given up when the whole of it takes too long", async () => {
    await using server = await serve(dribble);
    await expect(get(server.url, { wholeAnswerMaxMs: 300 })).rejects.toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("the whole answer took longer than 0.3 s"),
    });
  });

  test.each([
    ["before its head", () => undefined, /no answer came within 0\.2 s$/],
    ["in its body", (response) => response.write("x"), /the answer stalled for 0\.2 s$/],
  ] satisfies [string, Responder, RegExp][])(
    "that falls silent %s is given up",
    async (_title, respond, message) => {
      await using server = await serve(respond);
      await expect(get(server.url, { silenceMaxMs: 200 })).rejects.toThrow(message);
    },
  );
});

/** A server below HTTP that does with each connection what the test says. */
async function listen(onRequest: (socket: Socket) => void) {
  return await listening(createServer((socket) => socket.once("data", () => onRequest(socket))));
}

const page = JSON.stringify(emptyPage.body);
const head = (length: number) => `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n`;

describe("a connection", () => {
  const ways: readonly [string, (socket: Socket) => void][] = [
    ["reset before the answer", (socket) => socket.resetAndDestroy()],
    ["closed in the body", (socket) => cut(socket, () => socket.end())],
    ["that speaks another language", (socket) => socket.end("SSH-2.0-OpenSSH_9.6\r\n")],
  ];
  const cut = (socket: Socket, end: () => void) =>
    socket.write(head(page.length) + page.slice(0, 10), end);

  test.each(ways)("%s is tried again, eight times at most", async (_title, act) => {
    await using broken = await listen(act);
    await using asking = openClient(`http://${broken.host}`);
    await expect(asking.askBills()).rejects.toMatchObject({
      kind: "unavailable",
      message: expect.stringMatching(
        /^no answer from 127\.0\.0\.1:\d+: (?!.*(?:UND_ERR|undefined|other side)).*\(after 8 attempts\)$/,
      ),
    });
    expect(broken.sockets.size).toBe(8);
  });

  test("that is kept and then dropped in the middle of a request gets it once, and so do ten at once", async () => {
    await using server = await serve((response, _request, index) => {
      if (index < 10) give(response, emptyPage);
      else response.socket?.resetAndDestroy();
    });
    await using transport = openTransport();
    const ask = () => transport({ url: new URL(server.url), headers: {} });
    const tenAtOnce = () => Promise.allSettled(Array.from({ length: 10 }, ask));
    await tenAtOnce();
    expect((await tenAtOnce()).map(({ status }) => status)).toEqual(Array(10).fill("rejected"));
    expect(server.requests).toHaveLength(20);
  });

  test("that was in use when the transport closed ends its request", async () => {
    await using server = await serve(dribble);
    const transport = openTransport({ ...transportLimits, wholeAnswerMaxMs: 5_000 });
    const url = new URL(accountBills.path, server.url);
    const answer = transport({ url, headers: {} });
    const message = expect.not.stringContaining("took longer");
    const ended = expect(answer).rejects.toMatchObject({ kind: "unavailable", message });
    while (server.requests.length === 0) await new Promise(setImmediate);
    await transport[Symbol.asyncDispose]();
    await ended;
  });
});
