import { expect, test } from "vitest";
import { firstThrown, messageOf, StoppedError } from "../src/lib/errors.ts";

const stopped = new StoppedError("stopped on request");
const closing = new Error("closing failed");

test("a message is of all errors, each once, and of what failed first where closing failed, too", () => {
  const nested = new SuppressedError(closing, new SuppressedError(closing, stopped));
  for (const [thrown, expected] of [
    [closing, "closing failed"],
    [new TypeError(), "TypeError"],
    ["text", "text"],
    [new AggregateError([closing, stopped, closing]), "closing failed; stopped on request"],
    [new AggregateError([closing], "all failed"), "all failed: closing failed"],
    [new AggregateError([]), "AggregateError"],
    [nested, "stopped on request"],
  ] as const)
    expect(messageOf(thrown)).toBe(expected);
  expect([firstThrown(nested), firstThrown(closing)]).toEqual([stopped, closing]);
});
