// Holds: Bounded

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { refusalOf } from "../src/core/exchange/answer.ts";
import { attemptsBound, retryAfterMs, retryDelayMs } from "../src/core/exchange/retry.ts";
import type { ExchangeErrorKind } from "../src/lib/errors.ts";

test("a refusal with a code that nobody knows, or none, is judged by its status where that says enough", () => {
  expect(refusalOf(undefined, 302)).toMatchObject({
    kind: "refused-request",
    remedy: expect.stringMatching(/redirects.*EXCHANGE_BASE_URL/),
  });
  expect(refusalOf(undefined, 403).kind).toBe("banned");
  expect(refusalOf(undefined, 451).kind).toBe("banned");
  expect(refusalOf("constructor", 400).kind).toBe("unknown-code");
  expect(refusalOf("99999", 500).kind).toBe("unavailable");
  expect(refusalOf("99999", 429).kind).toBe("rate-limited");
  expect(refusalOf("99999", 418).kind).toBe("banned");
  expect(refusalOf("99999", 403).kind).toBe("unknown-code");
  expect(refusalOf("40009", 500).kind).toBe("refused-credentials");
});

test("a maintenance is waited for by the minute, and an answer that is too early is told so", () => {
  const waitMs = (code: string): number => {
    const { kind, pauseMs = 0 } = refusalOf(code, 400);
    const delays = Array.from({ length: 20 }, (_, failed) =>
      retryDelayMs(failure(kind, pauseMs), failed + 1, () => 0.5),
    );
    return delays.reduce<number>((sum, delay) => sum + (delay === "stop" ? 0 : delay), 0);
  };
  const codes = [
    "40308",
    "40604",
    "30014",
    "30026",
    "1001",
    "50008",
    "50009",
    "500",
    "30038",
    "41114",
  ];
  for (const code of codes) expect(waitMs(code), code).toBeGreaterThan(90_000);
  expect(waitMs("40725")).toBeLessThan(90_000);
});

// In the exchange's published lists of codes and in ccxt's, with these meanings.
test.each<[string, ExchangeErrorKind, RegExp]>([
  ["40013 40023 40024 40026 40031 40710 25005 25006 25007", "refused-credentials", /support/],
  ["50012 50013 50023 50064 30029", "refused-credentials", /support/],
  ["40016 40035 40101 40111", "refused-credentials", /KYC/],
  ["40061 40068", "refused-credentials", /sub-account/],
  ["22010 30011", "refused-credentials", /IP address/],
  ["40041 40065 30001 30006 30010 30012 30022", "refused-credentials", /_KEY/],
  ["40506 40507 30002 30013", "refused-credentials", /_SECRET/],
  ["30004 30015", "refused-credentials", /_PASSPHRASE/],
  ["40022 40025 40301 40752 40753 40916", "refused-permission", /support/],
  ["40040 30028", "refused-permission", /right to read/],
  ["40103 40104", "banned", /country/],
  ["40128", "refused-permission", /unified/],
  ["40078 40902 40911 30003", "clock", /clock/],
  ["40115 40910 50031 80002 43059 30009 30019 30030 30037", "unavailable", /later/],
  ["25102 25106 40844 43115 45043 50027", "unavailable", /maintained/],
  ["00171 00172 40057 40058 40059 40064 40302 40304 40724", "refused-request", /newer/],
  ["40811 40813 43011 43058 48001 48002 50011 50061", "refused-request", /newer/],
  ["31003 31028 95011", "refused-request", /newer/],
  ["40408 20001 42072 43130", "time-range", /90 days/],
  ["25559 25561 25562 25566", "refused-request", /loan|risk unit/],
])("codes %s are %s", (codes, kind, remedy) => {
  for (const code of codes.split(" ")) {
    expect(refusalOf(code, 400), code).toMatchObject({
      ...{ kind, remedy: expect.stringMatching(remedy) },
    });
  }
});

const failure = (kind: ExchangeErrorKind, afterMs?: number) => ({ kind, retryAfterMs: afterMs });

describe("the delay before another attempt", () => {
  test("ends with the last failure that a kind may have, and however kinds follow each other", () => {
    const attempts: Readonly<Record<ExchangeErrorKind, number>> = {
      ...{ "refused-credentials": 1, "other-mode": 1, "refused-permission": 1 },
      ...{ "refused-request": 1, "time-range": 1, banned: 3, clock: 3, "unknown-code": 4 },
      ...{ malformed: 6, unavailable: 8, "rate-limited": 10 },
    };
    for (const [kind, most] of Object.entries(attempts) as [ExchangeErrorKind, number][]) {
      const delays = Array.from({ length: most + 3 }, (_, failed) =>
        retryDelayMs(failure(kind, 0), failed + 1, () => 0.5),
      );
      expect(delays.indexOf("stop"), kind).toBe(most - 1);
      expect(delays.slice(most)).toEqual(["stop", "stop", "stop"]);
    }
    expect(attemptsBound).toBe(39);
  });

  test("is none after the clock was set, and there is none in a ban without an end", () => {
    expect(retryDelayMs(failure("clock", 5_000), 2, () => 0.9)).toBe(0);
    expect(retryDelayMs(failure("banned"), 1, () => 0.9)).toBe("stop");
  });

  test("is up to twice as long each time, and at least what the exchange asked for, up to two minutes", () => {
    const bounds = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000];
    const after = fc.option(fc.integer({ min: 0, max: 300_000 }), { nil: undefined });
    const chance = fc.oneof(
      fc.constantFrom(0, 1 - Number.EPSILON / 2),
      fc.double({ min: 0, max: 0.99, noNaN: true }),
    );
    fc.assert(
      fc.property(fc.nat(bounds.length - 1), after, chance, (failed, afterMs, drawn) => {
        const delay = retryDelayMs(failure("rate-limited", afterMs), failed + 1, () => drawn);
        const backoffMs = drawn * (bounds[failed] ?? 0);
        expect(delay).toBe((afterMs ?? 0) > 120_000 ? "stop" : Math.max(afterMs ?? 0, backoffMs));
      }),
      { numRuns: 300 },
    );
  });
});

test.each<[string | undefined, number | undefined]>([
  [undefined, undefined],
  ["0", 0],
  [" 120 ", 120_000],
  ["Sun, 01 Jun 2025 12:00:30 GMT", 30_000],
  ["Sun, 01 Jun 2025 11:59:00 GMT", 0],
  ["", undefined],
  ["30 seconds", undefined],
])("a Retry-After header %j is %j ms", (header, ms) => {
  expect(retryAfterMs(header, Date.UTC(2025, 5, 1, 12, 0, 0))).toBe(ms);
});
