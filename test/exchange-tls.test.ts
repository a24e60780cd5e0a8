// Holds: Within the limit
// TLS is verified unless the URL says otherwise, or the database is on this machine and it says nothing.

import { once } from "node:events";
import { constants, createSecureServer, type ServerHttp2Stream } from "node:http2";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { openTransport } from "../src/exchange/transport.ts";
import {
  certificate,
  certificateOfOther,
  expiredCertificate,
  key,
} from "./support/certificates.ts";
import { emptyPage, openClient } from "./support/exchange-client.ts";

/** An exchange with TLS that counts its requests. */
async function serveTls(cert: string) {
  let requests = 0;
  const server = createServer({ key, cert }, (_request, response) => {
    requests += 1;
    response.end(JSON.stringify(emptyPage.body));
  });
  server.on("tlsClientError", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const own = getCACertificates("default");
const trust = (...certificates: readonly string[]) =>
  setDefaultCACertificates([...own, ...certificates]);

const environment = process.env;
afterEach(() => {
  trust();
  delete environment["NODE_TLS_REJECT_UNAUTHORIZED"];
});

const refused: readonly [string, string, boolean, RegExp][] = [
  ["that nobody signed", certificate, false, /self-signed certificate/],
  ["of another host", certificateOfOther, true, /does not match certificate's altnames/],
  ["that has expired", expiredCertificate, true, /certificate has expired/],
];

describe.each(["", "0"])("with NODE_TLS_REJECT_UNAUTHORIZED=%s", (setting) => {
  test.each(refused)(
    "an exchange with a certificate %s is asked nothing, once, and the remedy is said",
    async (_title, cert, isTrusted, message) => {
      if (setting !== "") environment["NODE_TLS_REJECT_UNAUTHORIZED"] = setting;
      if (isTrusted) trust(cert);
      await using server = await serveTls(cert);
      await using asking = openClient(server.url);
      const attempts: unknown[] = [];
      const onAttempt = (failure: unknown) => attempts.push(failure);
      const error = await asking.askBills({ onAttempt }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        kind: "refused-request",
        message: expect.stringMatching(message),
      });
      expect(error).toMatchObject({
        message: expect.stringMatching(
          /^no answer from 127\.0\.0\.1:\d+: .*the key was not sent; check EXCHANGE_BASE_URL, .* NODE_EXTRA_CA_CERTS=FILE$/,
        ),
      });
      expect(attempts).toHaveLength(1);
      expect(server.requests()).toBe(0);
    },
  );

  test("one whose authority is named is asked", async () => {
    trust(certificate);
    await using server = await serveTls(certificate);
    await using transport = openTransport();
    const answer = await transport({ url: new URL(server.url), headers: {} });
    expect(answer.status).toBe(200);
    expect(server.requests()).toBe(1);
  });
});

/**
 * A front end that offers HTTP/2. Over HTTP/2 it refuses every third stream, and ends the connection at
 * every seventh: a client may send such requests again. Over HTTP/1.1 it answers.
 */
async function serveHttp2() {
  const versions: string[] = [];
  const server = createSecureServer({ key, cert: certificate, allowHTTP1: true });
  server.on("stream", (stream: ServerHttp2Stream) => {
    versions.push("2.0");
    stream.on("error", () => undefined);
    if (versions.length % 7 === 0) stream.session?.goaway(constants.NGHTTP2_NO_ERROR, stream.id);
    if (versions.length % 3 === 0) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    stream.respond({ ":status": 200 });
    stream.end(JSON.stringify(emptyPage.body));
  });
  server.on("request", (request, response) => {
    if (request.httpVersion === "2.0") return;
    versions.push(request.httpVersion);
    response.end(JSON.stringify(emptyPage.body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    versions,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}

test("a front that offers HTTP/2 gets each request once, over HTTP/1.1, and no more than were counted", async () => {
  trust(certificate);
  await using server = await serveHttp2();
  await using transport = openTransport();
  let sent = 0;
  const onSent = () => {
    sent += 1;
  };
  const asked = Array.from({ length: 40 }, () =>
    transport({ url: new URL(server.url), headers: {}, onSent }).catch(() => undefined),
  );
  await Promise.all(asked);
  expect(server.versions).toEqual(asked.map(() => "1.1"));
  expect(sent).toBe(asked.length);
});
