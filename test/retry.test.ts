// Holds: Bounded

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ExchangeErrorKind } from "../src/errors.ts";
import { refusalOf } from "../src/exchange/answer.ts";
import { attemptsBound, retryAfterMs, retryDelayMs } from "../src/exchange/retry.ts";

describe("a refusal", () => {
  test("with a code that nobody knows, or none, is judged by its status where that says enough", () => {
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
});

const attempts: Readonly<Record<ExchangeErrorKind, number>> = {
  "refused-credentials": 1,
  "other-mode": 1,
  "refused-permission": 1,
  banned: 3,
  "refused-request": 1,
  "time-range": 1,
  clock: 3,
  "unknown-code": 4,
  malformed: 6,
  unavailable: 8,
  "rate-limited": 10,
};
const kinds = Object.entries(attempts) as [ExchangeErrorKind, number][];
const backingOff = kinds.flatMap(([kind, most]) => (most > 3 || kind === "banned" ? [kind] : []));

const failure = (kind: ExchangeErrorKind, afterMs?: number) => ({ kind, retryAfterMs: afterMs });
/** Numbers in [0, 1), often at both ends. */
const chance = fc.oneof(
  fc.constantFrom(0, 1 - Number.EPSILON / 2),
  fc.double({ min: 0, max: 0.99, noNaN: true }),
);

describe("the delay before another attempt", () => {
  test.each(kinds)("after %s ends with failure %i of the kind", (kind, most) => {
    const delays = Array.from({ length: most + 3 }, (_, failed) =>
      retryDelayMs(failure(kind, 0), failed + 1, () => 0.5),
    );
    expect(delays.map((delay) => delay === "stop")).toEqual(
      delays.map((_, failed) => failed + 1 >= most),
    );
  });

  test("ends however the kinds follow each other", () => {
    expect(attemptsBound).toBe(39);
    expect(attemptsBound).toBeGreaterThan(kinds.reduce((sum, [, most]) => sum + most - 1, 0));
  });

  test("is none after the clock was set", () => {
    expect(retryDelayMs(failure("clock"), 1, () => 0.9)).toBe(0);
    expect(retryDelayMs(failure("clock", 5_000), 2, () => 0.9)).toBe(0);
  });

  const bounds = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000];
  test.each(bounds.entries().toArray())(
    "is, after failure %i and one, anything from nothing up to %i ms",
    (before, boundMs) => {
      fc.assert(
        fc.property(chance, (drawn) => {
          const delay = retryDelayMs(failure("rate-limited"), before + 1, () => drawn);
          expect(delay).toBe(drawn * boundMs);
        }),
      );
    },
  );

  test("is at least what the exchange asked for, up to two minutes; past that there is none", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...backingOff),
        fc.integer({ min: 0, max: 300_000 }),
        chance,
        (kind, afterMs, drawn) => {
          const delay = retryDelayMs(failure(kind, afterMs), 2, () => drawn);
          expect(delay).toBe(afterMs > 120_000 ? "stop" : Math.max(afterMs, drawn * 1_000));
        },
      ),
    );
  });
});

describe("a Retry-After header", () => {
  const now = Date.UTC(2025, 5, 1, 12, 0, 0);
  const headers: readonly [string | undefined, number | undefined][] = [
    [undefined, undefined],
    ["0", 0],
    ["1", 1_000],
    [" 120 ", 120_000],
    ["86400", 86_400_000],
    ["99999999999", 99_999_999_999_000],
    ["Sun, 01 Jun 2025 12:00:30 GMT", 30_000],
    ["Sunday, 01-Jun-25 12:00:30 GMT", 30_000],
    ["Sun, 01 Jun 2025 11:59:00 GMT", 0],
    ["soon", undefined],
    ["", undefined],
    ["30 seconds", undefined],
  ];
  test.each(headers)("%j is %j ms", (header, ms) => {
    expect(retryAfterMs(header, now)).toBe(ms);
  });
});
