// Holds: Honest coverage, Within the limit

import { describe, expect, test } from "vitest";
import { accountBills } from "../src/core/contract/account-bills.ts";
import { signature } from "../src/core/contract/signature.ts";
import { symbols } from "../src/core/contract/symbols.ts";
import { type ExchangeError, type ExchangeErrorKind, messageOf } from "../src/lib/errors.ts";
import { minuteMs } from "../src/lib/time.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import {
  emptyPage,
  type Given,
  give,
  openClient,
  serve,
  serveAnswers,
  testAccount,
} from "./support/exchange-client.ts";
import { virtualClock } from "./support/virtual-clock.ts";

const start = Date.UTC(2025, 5, 1, 10, 11, 12, 345);

const refusal = (code: string, msg = "no", status = 400): Given => ({
  status,
  body: { code, msg, requestTime: start, data: null },
});

/** A page whose one row is this many nested lists. */
const nested = (depth: number): string =>
  `{"code":"00000","data":{"bills":[${"[".repeat(depth)}${"]".repeat(depth)}]}}`;

describe("a request", () => {
  test("carries the contract's headers, and a query in the order in which it is signed", async () => {
    await using server = await serveAnswers(emptyPage);
    await using asking = openClient(server.url);
    const query = {
      startTime: "1",
      productType: "USDT-FUTURES",
      endTime: "2",
      businessType: "a b",
    };
    await asking.time.run(asking.client.ask(accountBills, query));
    const [request] = server.requests;
    const path = accountBills.path;
    expect(request?.method).toBe("GET");
    expect(request?.url).toBe(
      `${path}?businessType=a+b&endTime=2&productType=USDT-FUTURES&startTime=1`,
    );
    const timestamp = String(request?.headers["access-timestamp"]);
    expect(request?.headers).toMatchObject({
      "access-key": testAccount.apiKey,
      "access-passphrase": testAccount.apiPassphrase,
      "access-timestamp": String(asking.time.now()),
      "access-sign": signature(testAccount.apiSecret, { timestamp, path, query }),
      locale: "en-US",
      "content-type": "application/json",
      "accept-encoding": "identity",
      // Past every cache, which might answer with another account's bills.
      "cache-control": "no-cache",
      pragma: "no-cache",
    });
    expect(request?.headers).not.toHaveProperty("paptrading");
  });

  test("for something public carries no header of the account", async () => {
    await using server = await serveAnswers({ body: { code: "00000", data: [] } });
    await using asking = openClient(server.url);
    await asking.time.run(asking.client.ask(symbols, {}));
    const names = Object.keys(server.requests[0]?.headers ?? {});
    expect(names.filter((name) => /access|locale|content|paptrading/.test(name))).toEqual([]);
  });
});

test("an answer comes with the exchange's time, reckoned where the answer does not say it", async () => {
  const requestTime = start - 90_000;
  const body = { code: "00000", data: [] };
  await using server = await serveAnswers({ body: { ...body, requestTime } }, { body });
  const time = virtualClock(start);
  await using asking = openClient(server.url, { time });
  for (const passedMs of [0, 5_000]) {
    await time.run(time.clock.sleep(passedMs));
    const answered = await time.run(asking.client.ask(symbols, {}));
    expect(answered.data).toEqual([]);
    expect(answered.requestTime).toBe(requestTime + (time.now() - start));
  }
});

test("an answer comes back with every digit of its numbers", async () => {
  const row = '{"billId":1268377000628355083,"amount":1.5000,"fee":-1e-7}';
  const data = `{"bills":[${row}],"endId":1268377000628355083}`;
  await using server = await serveAnswers({ body: `{"code":"00000","data":${data}}` });
  await using asking = openClient(server.url);
  const page = await asking.askBills();
  expect(JSON.stringify(page)).toBe(`{"rows":[${row}],"endId":"1268377000628355083"}`);
});

describe("an answer that is none", () => {
  const redirect: Given = { status: 308, body: "", headers: { location: "/x" } };
  const answers: readonly [string, Given, ExchangeErrorKind, number, RegExp][] = [
    ["HTML with 200", { body: "<html>Welcome" }, "malformed", 6, /HTTP 200 "<html>Welcome"/],
    ["JSON cut off", { body: '{"code":"00000","data":{"bi' }, "malformed", 6, /not the exchange's/],
    ["an empty body", { body: "" }, "unavailable", 8, /empty body/],
    ["JSON of something else", { body: { status: "ok" } }, "malformed", 6, /not the exchange's/],
    ["nesting without end", { body: nested(20_000) }, "malformed", 6, /nested too deeply/],
    ["success without data", { body: { code: "00000" } }, "malformed", 6, /contract at data:/],
    ["a number for success", { body: { code: 0, data: [] } }, "unknown-code", 4, /refused \(0: /],
    ["a page without bills", { body: { code: "00000", data: {} } }, "malformed", 6, /data\.bills:/],
    ["success with 500", { ...emptyPage, status: 500 }, "unavailable", 8, /HTTP 500/],
    ["success with 404", { ...emptyPage, status: 404 }, "unknown-code", 4, /HTTP 404/],
    ["a refusal with 400", refusal("40009"), "refused-credentials", 1, /40009: no.*API_SECRET/],
    ["a clock that stays wrong", refusal("40008"), "clock", 3, /40008.*after 3 attempts/],
    ["a code that nobody knows", refusal("12345"), "unknown-code", 4, /12345.*after 4 attempts/],
    ["HTTP 503", { status: 503, body: "<h1>Sorry" }, "unavailable", 8, /HTTP 503 "<h1>Sorry"/],
    [
      "HTTP 403",
      { status: 403, body: "<p>Just a moment" },
      "banned",
      1,
      /HTTP 403 "<p>Just a moment".*banned this machine.s address/,
    ],
    ["HTTP 403 with a code", refusal("40014", "no", 403), "refused-permission", 1, /40014: no/],
    ["HTTP 308", redirect, "refused-request", 1, /redirects are not followed/],
  ];
  test.each(answers)("%s is an error", async (_, answer, kind, requests, message) => {
    await using server = await serveAnswers(answer);
    await using asking = openClient(server.url);
    const failures: (ExchangeError | undefined)[] = [];
    const asked = asking.askBills({ onAttempt: (failure) => failures.push(failure) });
    await expect(asked).rejects.toMatchObject({ kind, message: expect.stringMatching(message) });
    expect(server.requests).toHaveLength(requests);
    expect(failures.map((failure) => failure?.kind)).toEqual(Array(requests).fill(kind));
  });

  test("is shown in one short line, with nothing in it that a terminal acts on", async () => {
    const body = `\u001b[2J\u0007\r\nred\u202e${"x".repeat(10_000)}`;
    for (const answer of [{ status: 401, body }, refusal("40014", body)]) {
      await using server = await serveAnswers(answer);
      await using asking = openClient(server.url);
      const message = await asking.askBills().catch(messageOf);
      expect(message).toMatch(/^[\x20-\x7e]{1,500}$/);
      expect(message).toContain("[2J red x");
    }
  });
});

describe("another attempt", () => {
  const unavailable: Given = { status: 503, body: "" };
  const slowDown: Given = { status: 429, body: { code: "429" }, headers: { "retry-after": "7" } };

  test("after 429 comes no sooner than Retry-After says, and holds up all other requests", async () => {
    await using server = await serveAnswers(slowDown, emptyPage);
    await using asking = openClient(server.url);
    const { client, time } = asking;
    const began = time.now();
    const times: number[] = [];
    const ask = () =>
      client.ask(accountBills, {}, { beforeSend: () => times.push(time.now() - began) });
    await time.run(Promise.all([ask(), time.clock.sleep(1_000).then(ask)]));
    expect(times).toHaveLength(3);
    expect(times[0]).toBe(0);
    expect(Math.min(...times.slice(1))).toBeGreaterThanOrEqual(7_000);
  });

  test("waits for a Retry-After date by the exchange's clock, not by this machine's", async () => {
    const exchangeNow = start + 60 * minuteMs;
    const until = new Date(exchangeNow + 9_000).toUTCString();
    const body = { code: "429", msg: "slow", requestTime: exchangeNow };
    await using server = await serveAnswers(
      { status: 429, headers: { "retry-after": until }, body },
      emptyPage,
    );
    const time = virtualClock(start);
    await using asking = openClient(server.url, { time });
    await asking.askBills();
    // The header has whole seconds.
    expect(time.now() - start).toBeGreaterThanOrEqual(8_000);
    expect(time.now() - start).toBeLessThanOrEqual(9_010);
  });

  test("is not made once the signal has aborted", async () => {
    await using server = await serveAnswers(unavailable);
    await using asking = openClient(server.url);
    const stop = new AbortController();
    const reason = new Error("stopped on request");
    const onAttempt = () => stop.abort(reason);
    const began = asking.time.now();
    await expect(asking.askBills({ signal: stop.signal, onAttempt })).rejects.toBe(reason);
    expect(server.requests).toHaveLength(1);
    expect(asking.time.now()).toBe(began);
  });

  test("is not made, nor any, where whoever asks may not ask any more", async () => {
    await using server = await serveAnswers(emptyPage);
    await using asking = openClient(server.url);
    const beforeSend = () => {
      throw new Error("the lease is lost");
    };
    await expect(asking.askBills({ beforeSend })).rejects.toThrow("the lease is lost");
    expect(server.requests).toHaveLength(0);
  });
});

test.each([-7, 60 * 24 * 400])(
  "a clock that is wrong by %i minutes costs one refused request",
  async (minutes) => {
    const time = virtualClock(start);
    const exchangeNow = () => time.now() + minutes * minuteMs;
    await using sandbox = await openSandbox({ seed: 1, density: 0.1, now: exchangeNow });
    await using asking = openClient(sandbox.url, { account: sandbox.account, time });
    expect(await asking.askBills()).toMatchObject({ rows: [{}, {}, {}] });
    expect(sandbox.statistics()).toMatchObject({
      refusals: { "40008": 1 },
      arrivals: { "account bills": 2 },
    });
    expect(asking.exchangeClock.offsetMs()).toBe(minutes * minuteMs);
    await asking.askBills();
    expect(sandbox.statistics().refusals).toEqual({ "40008": 1 });
  },
);

test("the time that a new connection takes is not taken for the request's way", async () => {
  const time = virtualClock(start);
  await using server = await serve((response) =>
    give(response, {
      body: { code: "00000", data: { bills: [], endId: "" }, requestTime: Math.floor(time.now()) },
    }),
  );
  await using asking = openClient(server.url, { time, latencyMs: () => 4_000 });
  await asking.askBills();
  expect(asking.exchangeClock.offsetMs()).toBe(0);
});

test("a machine that slept asks once in vain, however slow the answer that tells it so", async () => {
  const time = virtualClock(start);
  let sleptMs = 0;
  let latencyMs = 10;
  const exchangeNow = () => time.now() + sleptMs;
  await using sandbox = await openSandbox({ seed: 1, density: 0.1, now: exchangeNow });
  await using asking = openClient(sandbox.url, {
    account: sandbox.account,
    time,
    latencyMs: () => latencyMs,
  });
  await asking.askBills();
  sleptMs = 8 * 60 * minuteMs;
  latencyMs = 2_000;
  expect(await asking.askBills()).toMatchObject({ rows: [{}, {}, {}] });
  expect(sandbox.statistics().refusals).toEqual({ "40008": 1 });
});
