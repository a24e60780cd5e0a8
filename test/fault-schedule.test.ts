import { describe, expect, test } from "vitest";
import { accountBills } from "../src/contract/account-bills.ts";
import { hourMs, minuteMs, secondMs } from "../src/contract/time.ts";
import { envelopeOf, failureOf } from "../src/exchange/answer.ts";
import { transportLimits } from "../src/exchange/transport.ts";
import { seededRandom } from "../src/sandbox/random.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { sendDelivered } from "./faults/delivery.ts";
import { drawFaultSchedule } from "./faults/draw.ts";
import {
  expectations,
  type Fault,
  laterCodes,
  type ScheduledFault,
  survivableKinds,
} from "./faults/kinds.ts";
import { describeFault, faultyExchange } from "./faults/schedule.ts";
import { openClient } from "./support/exchange-client.ts";
import { virtualClock } from "./support/virtual-clock.ts";

const start = Date.UTC(2026, 3, 30, 23, 59, 58, 765);
test("a schedule is the same for the same seed, and holds every kind that a client can come through", () => {
  const draw = () => drawFaultSchedule(seededRandom("kinds"), { requests: 500, count: 2_000 });
  expect(draw()).toEqual(draw());
  expect(new Set(draw().map(({ kind }) => kind))).toEqual(new Set(survivableKinds));
});

/** The real client, and a sandbox on a port that has these faults. */
async function openFaulty(schedule: readonly ScheduledFault[], density = 0.3) {
  const stack = new AsyncDisposableStack();
  const time = virtualClock(start);
  const met: string[] = [];
  const sandbox = stack.use(
    await openSandbox({
      seed: "faults",
      productTypes: ["USDT-FUTURES"],
      density,
      now: time.now,
      send: sendDelivered,
      faults: faultyExchange({
        schedule,
        onFault: (fault, request) => met.push(`${request} ${fault.kind}`),
      }),
    }),
  );
  // Such faults take real time, so the limits are short. The client's own pauses are virtual.
  const isSlow = schedule.some(
    (fault) =>
      (fault.kind === "drip" && fault.bytes === undefined) ||
      (fault.kind === "late-answer" && fault.holdMs > secondMs),
  );
  const short = { silenceMaxMs: 400, wholeAnswerMaxMs: 700 };
  const limits = { ...transportLimits, ...(isSlow && short) };
  const { account } = sandbox;
  const asking = stack.use(openClient(sandbox.url, { account, time, limits }));
  const ask = async (query: Readonly<Record<string, string>> = {}) => {
    const answered = asking.client.ask(accountBills, {
      productType: "USDT-FUTURES",
      startTime: String(start - 7 * 24 * hourMs),
      endTime: String(start),
      limit: "3",
      ...query,
    });
    return (await time.run(answered)).data;
  };
  return { ask, met, time, sandbox, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const always = (fault: Fault): readonly ScheduledFault[] => [
  { ...fault, atRequest: 1, times: 1_000 },
];

const unavailable = { kind: "unavailable", message: /after 8 attempts/ };
const malformed = { kind: "malformed", message: /after 6 attempts/ };

/** What is wrong with an answer, and the client's error if it stays so. */
const badAnswers: readonly (readonly [Fault, { kind: string; message: RegExp }])[] = [
  [{ kind: "too-many-requests" }, { kind: "rate-limited", message: /after 10 attempts/ }],
  [
    { kind: "too-many-requests", retryAfterSeconds: 3 },
    { kind: "rate-limited", message: /retry after 3 s.*after 10 attempts/ },
  ],
  ...([500, 502, 503, 504] as const).map(
    (status) => [{ kind: "server-error", status }, unavailable] as const,
  ),
  ...(["40010", "40015", "40200", "40725", "45001"] as const).flatMap((code) =>
    ([200, 400] as const).map(
      (status) => [{ kind: "refused-for-now", code, status }, unavailable] as const,
    ),
  ),
  [
    { kind: "refused-for-now", code: "40808", status: 400 },
    { kind: "unknown-code", message: /after 4 attempts/ },
  ],
  [{ kind: "html-with-200" }, malformed],
  // An answer without a byte says nothing. The exchange was seen to answer like that for a while.
  [{ kind: "empty-body" }, unavailable],
  ...[0, 0.001].map((share) => [{ kind: "cut-json", share }, unavailable] as const),
  ...[0.01, 0.5, 0.999999].map((share) => [{ kind: "cut-json", share }, malformed] as const),
  ...(["missing", "null", "empty"] as const).map(
    (data) => [{ kind: "no-data", data }, malformed] as const,
  ),
  [{ kind: "reset-before-answer" }, unavailable],
  ...[0, 0.5, 0.999999].map((share) => [{ kind: "reset-in-body", share }, unavailable] as const),
  [
    { kind: "drip", dripMs: 10 },
    { kind: "unavailable", message: /longer than 0.7 s.*8 attempts/ },
  ],
  [{ kind: "late-answer", holdMs: 2_000 }, unavailable],
  [{ kind: "wrong-time", offMs: 5 * hourMs }, malformed],
  [{ kind: "wrong-time", offMs: -31 * secondMs }, malformed],
];

describe.concurrent("of a bad answer, over a real connection, the client", () => {
  test.each(
    badAnswers.map(
      ([fault, error]) => [describeFault({ ...fault, atRequest: 1 }), fault, error] as const,
    ),
  )(
    "gets the right one in the next attempt, and gives up by name where it stays: %s",
    async (_title, fault, error) => {
      await using sound = await openFaulty([]);
      await using passing = await openFaulty([{ ...fault, atRequest: 1 }]);
      expect(await passing.ask()).toEqual(await sound.ask());
      expect(passing.met).toEqual([`1 ${fault.kind}`]);
      await using lasting = await openFaulty(always(fault));
      await expect(lasting.ask()).rejects.toMatchObject({
        kind: error.kind,
        message: expect.stringMatching(error.message),
      });
    },
  );
});

test.each([
  { kind: "drip", dripMs: 2, bytes: 20 },
  { kind: "late-answer", holdMs: 50 },
  { kind: "late-request", holdMs: 50 },
  { kind: "wrong-time", offMs: 20 * secondMs },
] as const)("an answer that is only slow, or seconds off, is taken as it is: %j", async (fault) => {
  await using sound = await openFaulty([]);
  await using slow = await openFaulty(always(fault));
  expect(await slow.ask()).toEqual(await sound.ask());
  expect(slow.met).toEqual([`1 ${fault.kind}`]);
});

test("JSON that is cut at any of its bytes is never taken for a success", async () => {
  await using exchange = await openFaulty([]);
  await exchange.ask();
  const page = { bills: [{ billId: "1", amount: "1.50" }], endId: "1" };
  const body = JSON.stringify({ code: "00000", msg: "success", requestTime: start, data: page });
  for (let bytes = 1; bytes < body.length; bytes++) {
    const answer = { status: 200, retryAfter: undefined, body: body.slice(0, bytes) };
    const failure = failureOf(answer, envelopeOf(answer), start, (text) => text);
    expect(failure).toMatchObject({ kind: "malformed" });
  }
});

describe("an exchange", () => {
  test("that is in maintenance serves nothing until it is over, by its own time", async () => {
    const maintenance = { kind: "maintenance", forMs: 5 * minuteMs, says: "40200" } as const;
    await using exchange = await openFaulty([{ ...maintenance, atRequest: 1 }]);
    await expect(exchange.ask()).rejects.toThrow(/40200.*being upgraded.*after 8 attempts/);
    await exchange.time.run(exchange.time.clock.sleep(5 * minuteMs));
    expect((await exchange.ask()).rows).toHaveLength(3);
  });

  test("whose clock jumps by 10 minutes refuses what is signed by another, and is believed", async () => {
    await using exchange = await openFaulty(always({ kind: "clock-jump", offMs: 10 * minuteMs }));
    expect((await exchange.ask()).rows).toHaveLength(3);
    expect(exchange.sandbox.statistics().refusals).toEqual({ "40008": 1 });
  });
});

test("every refusal that may be tried again has a sentence, and every kind an expectation", () => {
  expect(Object.values(laterCodes).every((said) => said.length > 0)).toBe(true);
  expect(Object.keys(expectations)).toHaveLength(27);
});
