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
  type FaultKind,
  laterCodes,
  type ScheduledFault,
  survivableKinds,
} from "./faults/kinds.ts";
import { describeFault, faultyExchange } from "./faults/schedule.ts";
import { openClient } from "./support/exchange-client.ts";
import { virtualClock } from "./support/virtual-clock.ts";

const start = Date.UTC(2026, 3, 30, 23, 59, 58, 765);
const draw = (seed: string, count: number, kinds?: readonly FaultKind[]) =>
  drawFaultSchedule(seededRandom(seed), { requests: 500, count, ...(kinds && { kinds }) });

describe("a schedule", () => {
  test("is the same for the same seed, another for another, and plain JSON", () => {
    expect(draw("1", 200)).toEqual(draw("1", 200));
    expect(draw("1", 200)).not.toEqual(draw("2", 200));
    expect(JSON.parse(JSON.stringify(draw("1", 200)))).toEqual(draw("1", 200));
  });

  test("holds every kind that a client can come through, in order, and no other unless it is asked for", () => {
    const schedule = draw("kinds", 2_000);
    expect(new Set(schedule.map(({ kind }) => kind))).toEqual(new Set(survivableKinds));
    const begins = schedule.map(({ atRequest }) => atRequest);
    expect(begins).toEqual(begins.toSorted((a, b) => a - b));
    expect([Math.min(...begins), Math.max(...begins)]).toEqual([1, 500]);
    expect(draw("1", 20, ["page-skipped"]).every(({ kind }) => kind === "page-skipped")).toBe(true);
  });
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

describe("a page that lies", async () => {
  /** The first three pages by their cursors. The second and the third have the fault. */
  async function threePages(...faults: readonly Fault[]) {
    await using exchange = await openFaulty(
      faults.map((fault) => ({ ...fault, atRequest: 2, times: 2 })),
    );
    const first = await exchange.ask();
    const second = await exchange.ask({ idLessThan: first.endId ?? "" });
    const third = await exchange.ask({ idLessThan: second.endId ?? "" });
    return { pages: [first, second, third], met: exchange.met };
  }
  const sound = await threePages();
  const ids = ({ rows }: { rows: readonly unknown[] }) =>
    rows.map((row) => (row as { billId: string }).billId);
  const [one, two, three] = sound.pages;
  if (one === undefined || two === undefined || three === undefined) throw new Error("no pages");

  test("is the page before, once more", async () => {
    const { pages } = await threePages({ kind: "page-again" });
    expect(pages[1]).toEqual(one);
  });

  test("is the page after it", async () => {
    const { pages } = await threePages({ kind: "page-skipped" });
    expect(pages[1]).toEqual(three);
  });

  test("is of another time", async () => {
    const { pages } = await threePages({ kind: "page-of-another-time", olderMs: 8 * 24 * hourMs });
    expect(pages[1]?.rows.length).toBe(3);
    for (const row of pages[1]?.rows ?? []) {
      expect(Number((row as { cTime: string }).cTime)).toBeLessThan(start - 7 * 24 * hourMs);
    }
  });

  test.each(["reversed", "rotated"] as const)(
    "has its rows %s, and the right endId",
    async (order) => {
      const { pages } = await threePages({ kind: "rows-reordered", order });
      expect(ids(pages[1] ?? one)).not.toEqual(ids(two));
      expect(ids(pages[1] ?? one).toSorted()).toEqual(ids(two).toSorted());
      expect(pages[1]?.endId).toBe(two.endId);
    },
  );

  test.each([
    ["repeats the cursor", { kind: "end-id-repeats" }, () => one.endId],
    ["is the newest of the page", { kind: "end-id-newest" }, () => ids(two)[0]],
  ] as const)("has an endId that %s", async (_title, fault, endId) => {
    const { pages } = await threePages(fault);
    expect(pages[1]).toEqual({ ...two, endId: endId() });
  });

  test("has an endId that was the cursor two pages before", async () => {
    await using exchange = await openFaulty([
      { kind: "end-id-cycles", pagesBack: 2, atRequest: 4 },
    ]);
    const cursors: string[] = [];
    for (let page = 0; page < 4; page++) {
      const idLessThan = cursors.at(-1);
      const { endId = "" } = await exchange.ask(idLessThan === undefined ? {} : { idLessThan });
      cursors.push(endId);
    }
    expect(cursors[3]).toBe(cursors[0]);
  });

  test("has an endId that is no bill of it, and older than all of them", async () => {
    const { pages } = await threePages({ kind: "end-id-foreign" });
    expect(ids(two)).not.toContain(pages[1]?.endId);
    expect(BigInt(pages[1]?.endId ?? "") < BigInt(two.endId ?? "")).toBe(true);
  });

  test("strikes only where there is such a page: the first has none before it", async () => {
    await using exchange = await openFaulty(always({ kind: "page-again" }));
    expect(await exchange.ask()).toEqual(one);
    expect(exchange.met).toEqual([]);
  });

  test("is none before the first page of a walk that begins anew", async () => {
    await using exchange = await openFaulty([{ kind: "page-again", atRequest: 3 }]);
    await exchange.ask();
    await exchange.ask({ idLessThan: one.endId ?? "" });
    expect(await exchange.ask()).toEqual(one);
    expect(exchange.met).toEqual([]);
  });
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

  test("counts its limit by the right time, wherever its clock jumps", async () => {
    await using exchange = await openFaulty([
      { kind: "clock-jump", offMs: 10 * minuteMs, atRequest: 3 },
    ]);
    for (let request = 0; request < 25; request++) {
      await exchange.ask();
      await exchange.time.run(exchange.time.clock.sleep(200));
    }
    expect(exchange.sandbox.statistics().refusals["429"]).toBe(undefined);
  });

  const old = {
    startTime: String(start - 90 * 24 * hourMs),
    endTime: String(start - 84 * 24 * hourMs),
  };

  test("whose edge comes closer refuses what is older, and serves the rest", async () => {
    const edge = always({ kind: "edge-refuses", laterMs: 5 * minuteMs });
    await using exchange = await openFaulty(edge);
    await expect(exchange.ask(old)).rejects.toMatchObject({ kind: "time-range", code: "43111" });
    expect((await exchange.ask()).rows).toHaveLength(3);
  });

  test("whose edge comes closer without a word leaves out what is older", async () => {
    await using sound = await openFaulty([], 1);
    await using trimming = await openFaulty(
      always({ kind: "edge-trims", laterMs: 3 * 24 * hourMs }),
      1,
    );
    const query = { ...old, endTime: String(start - 88 * 24 * hourMs) };
    expect((await sound.ask(query)).rows.length).toBeGreaterThan(0);
    expect((await trimming.ask(query)).rows).toEqual([]);
  });
});

test("every refusal that may be tried again has a sentence, and every kind an expectation", () => {
  expect(Object.values(laterCodes).every((said) => said.length > 0)).toBe(true);
  expect(Object.keys(expectations)).toHaveLength(27);
});
