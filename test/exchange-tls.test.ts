// Holds: Within the limit
// TLS is verified unless the URL says otherwise, or the database is on this machine and it says nothing.

import { createServer as createPlainServer, type IncomingMessage } from "node:http";
import { createSecureServer } from "node:http2";
import { createServer } from "node:https";
import { connect, type Socket } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { openTransport, transportLimits } from "../src/core/exchange/transport.ts";
import { Secret } from "../src/lib/secret.ts";
import {
  certificate,
  certificateOfOther,
  expiredCertificate,
  key,
} from "./support/certificates.ts";
import { emptyPage, openClient } from "./support/exchange-client.ts";
import { listening } from "./support/listening.ts";

/** An exchange with TLS that counts its requests. */
async function serveTls(cert: string) {
  let requests = 0;
  const server = createServer({ key, cert }, (_request, response) => {
    requests += 1;
    response.end(JSON.stringify(emptyPage.body));
  });
  server.on("tlsClientError", () => undefined);
  return Object.assign(await listening(server), { requests: () => requests });
}

const own = getCACertificates("default");
const trust = (...certificates: readonly string[]) =>
  setDefaultCACertificates([...own, ...certificates]);

const environment = process.env;
afterEach(() => {
  trust();
  delete environment["NODE_TLS_REJECT_UNAUTHORIZED"];
});

test.each([
  ["that nobody signed", certificate, false, /self-signed certificate/],
  ["of another host", certificateOfOther, true, /does not match certificate's altnames/],
  ["that has expired", expiredCertificate, true, /certificate has expired/],
])(
  "an exchange with a certificate %s is asked nothing, once, whatever NODE_TLS_REJECT_UNAUTHORIZED says",
  async (_title, cert, isTrusted, message) => {
    environment["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
    if (isTrusted) trust(cert);
    await using server = await serveTls(cert);
    await using asking = openClient(`https://${server.host}`);
    const attempts: unknown[] = [];
    const onAttempt = (failure: unknown) => attempts.push(failure);
    const error = await asking.askBills({ onAttempt }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: "refused-request" });
    expect(String(error)).toMatch(message);
    expect(String(error)).toMatch(
      /no answer from 127\.0\.0\.1:\d+: .*the key was not sent; check EXCHANGE_BASE_URL, .* NODE_EXTRA_CA_CERTS=FILE$/,
    );
    expect([attempts.length, server.requests()]).toEqual([1, 0]);
  },
);

/** A proxy that passes connections on, and notes where to and with which words of authority. */
async function serveProxy(status = "200 OK") {
  const tunnels: (string | undefined)[][] = [];
  const callers: (string | undefined)[] = [];
  const server = createPlainServer();
  server.on("connect", ({ url = "", headers }: IncomingMessage, socket: Socket) => {
    tunnels.push([url, headers["proxy-authorization"]]);
    callers.push(socket.remoteAddress);
    socket.write(`HTTP/1.1 ${status}\r\n\r\n`);
    if (!status.startsWith("200")) return socket.end();
    const { hostname, port } = new URL(`http://${url}`);
    const way = connect(Number(port), hostname);
    way.on("error", () => undefined);
    socket.on("error", () => undefined);
    return way.pipe(socket).pipe(way);
  });
  return Object.assign(await listening(server), { tunnels, callers });
}

test("through a proxy, the exchange's own certificate is verified, and the proxy sees no request", async () => {
  await using exchange = await serveTls(certificate);
  await using proxy = await serveProxy();
  await using transport = openTransport();
  const ask = (host: string) =>
    transport({
      url: new URL(`https://${exchange.host}`),
      headers: {},
      proxy: new Secret(`http://user:word@${host}`),
    });
  await expect(ask(proxy.host)).rejects.toMatchObject({
    kind: "refused-request",
    message: expect.stringMatching(
      new RegExp(`^no answer from ${exchange.host} through the proxy ${proxy.host}: .*self-signed`),
    ),
  });
  expect(exchange.requests()).toBe(0);
  trust(certificate);
  expect(await ask(proxy.host)).toMatchObject({ status: 200 });
  expect(await ask(proxy.host)).toMatchObject({ status: 200 });
  expect(exchange.requests()).toBe(2);
  const word = `Basic ${Buffer.from("user:word").toString("base64")}`;
  expect(new Set(proxy.tunnels.map(String))).toEqual(new Set([`${exchange.host},${word}`]));
  await using closed = await serveProxy("407 Proxy Authentication Required");
  await expect(ask(closed.host)).rejects.toMatchObject({
    kind: "unavailable",
    message: expect.stringMatching(/the proxy refused it \(407\)/),
  });
});

test("a proxy or an exchange that speaks no TLS is told so, with what to write", async () => {
  await using plain = await serveProxy();
  await using transport = openTransport();
  const url = new URL("https://127.0.0.2");
  const proxy = new Secret(`https://${plain.host}`);
  await expect(transport({ url, headers: {}, proxy })).rejects.toMatchObject({
    kind: "unavailable",
    message: expect.stringMatching(
      /proxy \S+: it does not speak TLS; write http:\/\/ in HTTPS_PROXY$/,
    ),
  });
  await expect(
    transport({ url: new URL(`https://${plain.host}`), headers: {} }),
  ).rejects.toMatchObject({
    message: expect.stringMatching(/: it does not speak TLS; check EXCHANGE_BASE_URL$/),
  });
});

test("an address of this machine is kept through a proxy, too", async () => {
  trust(certificate);
  await using exchange = await serveTls(certificate);
  await using proxy = await serveProxy();
  for (const address of ["127.0.0.2", "127.0.0.3"]) {
    await using transport = openTransport(transportLimits, address);
    await transport({
      url: new URL(`https://${exchange.host}`),
      headers: {},
      proxy: new Secret(`http://${proxy.host}`),
    });
  }
  expect(proxy.callers).toEqual(["127.0.0.2", "127.0.0.3"]);
});

test("a front that offers HTTP/2 gets each request over HTTP/1.1: undici would repeat those that HTTP/2 refuses", async () => {
  trust(certificate);
  const versions: string[] = [];
  const front = createSecureServer({ key, cert: certificate, allowHTTP1: true });
  front.on("request", ({ httpVersion }, response) => {
    versions.push(httpVersion);
    response.end(JSON.stringify(emptyPage.body));
  });
  await using server = await listening(front);
  await using transport = openTransport();
  const url = new URL(`https://${server.host}`);
  const asked = Array.from({ length: 40 }, () => transport({ url, headers: {} }));
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array(40).fill(200));
  expect(versions).toEqual(Array(40).fill("1.1"));
});
