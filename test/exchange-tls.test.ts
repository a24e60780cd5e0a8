// Holds: Within the limit
// TLS is verified unless the URL says otherwise, or the database is on this machine and it says nothing.

import { createSecureServer } from "node:http2";
import { createServer } from "node:https";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { openTransport } from "../src/core/exchange/transport.ts";
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
