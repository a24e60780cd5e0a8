import { expect, test } from "vitest";
import { DatabaseError, firstThrown, messageOf, StoppedError } from "../src/errors.ts";

const stopped = new StoppedError("stopped on request");
const closing = new Error("closing failed");

const messages: readonly [string, unknown, string][] = [
  ["an error's own", new DatabaseError("the database failed"), "the database failed"],
  ["an empty one's name", new TypeError(), "TypeError"],
  ["of what is no error, its text", "text", "text"],
  ["of nothing, the word for it", undefined, "undefined"],
  [
    "of several errors, each once",
    new AggregateError([closing, stopped, closing]),
    "closing failed; stopped on request",
  ],
  [
    "of several errors, after their own",
    new AggregateError([closing], "all failed"),
    "all failed: closing failed",
  ],
  ["of no errors at all, the name", new AggregateError([]), "AggregateError"],
  [
    "of what failed to close, what failed before",
    new SuppressedError(closing, stopped),
    "stopped on request",
  ],
  [
    "of several closings, what failed first",
    new SuppressedError(closing, new SuppressedError(closing, stopped)),
    "stopped on request",
  ],
];

test.each(messages)("a message is %s", (_title, thrown, expected) => {
  expect(messageOf(thrown)).toBe(expected);
});

test("what was thrown first decides, whatever failed to close after it", () => {
  expect(firstThrown(new SuppressedError(closing, stopped))).toBe(stopped);
  expect(firstThrown(closing)).toBe(closing);
});
