// Holds: Quiet secrets

import type { IncomingMessage, ServerResponse } from "node:http";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { holdsSecret, scrubber } from "../src/core/exchange/scrub.ts";
import { ExchangeError } from "../src/lib/errors.ts";
import { give, openClient, serve } from "./support/exchange-client.ts";

/** Contains every character that some spelling changes. */
const account = {
  apiKey: "bg_0123456789abcdef",
  apiSecret: 's3cr"et/+<&=%\\s3cr"et/+<&=%\\',
  apiPassphrase: "Correct Horse/Battery'Staple",
};

const headersOf = (request: IncomingMessage): string =>
  Object.entries(request.headers)
    .map(([name, value]) => `${name}: ${value}`)
    .filter((line) => line.startsWith("access-"))
    .join("\n");

const html = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

type Echo = (response: ServerResponse, echoed: string, request: IncomingMessage) => void;

/** Places in which a server, or a proxy before it, may repeat what it received. */
const echoes: readonly [string, Echo][] = [
  ["a page with 200", (response, echoed) => give(response, { body: echoed })],
  [
    "HTML",
    (response, echoed) => give(response, { status: 403, body: `<pre>${html(echoed)}</pre>` }),
  ],
  [
    "a link",
    (response, echoed) =>
      give(response, { status: 404, body: `/login?${new URLSearchParams({ "": echoed })}` }),
  ],
  ["the message", (response, msg) => give(response, { status: 400, body: { code: "40009", msg } })],
  ["the code", (response, code) => give(response, { status: 400, body: { code, msg: "no" } })],
  [
    "a broken head",
    (response, echoed) => response.socket?.end(`HTTP/1.1 200 OK\r\n${echoed}\r\n: :\r\n\r\n`),
  ],
  ["no HTTP at all", (response, echoed) => response.socket?.end(echoed)],
];

/** All spellings under which a secret would still be of use. */
const spellings = (secret: string): readonly string[] => [
  secret,
  encodeURIComponent(secret),
  new URLSearchParams({ "": secret }).toString().slice(1),
  JSON.stringify(secret).slice(1, -1),
  JSON.stringify(secret).slice(1, -1).replaceAll("/", "\\/"),
  Buffer.from(secret).toString("base64"),
  html(secret),
];

describe("a server that repeats the headers it got", () => {
  test.each(echoes)("in %s sees no secret of them in an error", async (_place, echo) => {
    await using server = await serve((response, request) =>
      echo(response, `secret: ${account.apiSecret}\n${headersOf(request)}`, request),
    );
    await using asking = openClient(server.url, { account });
    const errors: unknown[] = [];
    const onAttempt = (failure: unknown) => errors.push(failure);
    await asking.askBills({ onAttempt }).catch((error: unknown) => errors.push(error));
    expect(errors.length).toBeGreaterThan(1);
    expect(errors).toEqual(errors.map(() => expect.any(ExchangeError)));
    const shown = inspect(errors, { depth: null, showHidden: true }).toLowerCase();
    const signs = server.requests.map(({ headers }) => String(headers["access-sign"]));
    const secrets = [...Object.values(account), ...signs].flatMap(spellings);
    expect(secrets.filter((secret) => shown.includes(secret.toLowerCase()))).toEqual([]);
  });
});

test("a text that is cut where a secret stands shows no part of the secret", async () => {
  const { apiSecret } = account;
  for (let before = 140; before <= 160; before++) {
    await using server = await serve((response) =>
      give(response, { status: 404, body: "x".repeat(before) + apiSecret }),
    );
    await using asking = openClient(server.url, { account });
    await expect(asking.askBills()).rejects.not.toThrow(apiSecret.slice(0, 4));
  }
});

describe("data that a long secret stands in", () => {
  const long = "0123456789abcdef0123456789abcdef";
  const middling = "CorrectHorse";

  test.each<[string, unknown, boolean]>([
    ["as a value", { bills: [{ symbol: long }] }, true],
    ["within a value", [`x${long}y`], true],
    ["as a name", { [long]: 1 }, true],
    ["in hex", Buffer.from(long).toString("hex"), true],
    ["in base64, behind another text", Buffer.from(`a:${long}:b`).toString("base64"), true],
    ["cut short", long.slice(1), false],
    ["a shorter one as a value", { symbol: middling }, true],
    ["a shorter one within a value", { symbol: `${middling}USDT` }, false],
    ["one too short to tell", { symbol: "pass" }, false],
    ["none", { bills: [], endId: null }, false],
    ["nothing", undefined, false],
  ])("%s is told from data that it is not in", (_, data, expected) => {
    expect(holdsSecret(data, [long, middling, "pass", ""])).toBe(expected);
  });
});

test("a secret is scrubbed in each spelling and case, a longer one before one within it", () => {
  const all = scrubber(Object.values(account));
  for (const spelled of Object.values(account).flatMap(spellings))
    expect(all(`x ${spelled} ${spelled.toUpperCase()} y`)).toBe("x [secret] [secret] y");
  const scrub = scrubber(["abc", "abcdef", "", "secret"]);
  expect(scrub("abcdef and ABC, my secret")).toBe("[secret] and [secret], my [secret]");
  expect(scrub(`${Buffer.from("abc").toString("base64")}=`)).toBe("[secret]=");
  expect(scrubber([""])("a text")).toBe("a text");
});
