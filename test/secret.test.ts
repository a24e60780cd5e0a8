// Holds: Quiet secrets

import { format, inspect } from "node:util";
import { pino } from "pino";
import { expect, test } from "vitest";
import { messageOf } from "../src/lib/errors.ts";
import { Secret } from "../src/lib/secret.ts";

const value = "hKq81Zt02b";
const secret = new Secret(value);

// Every other way to a text goes through one of these.
test.each<[string, () => string, string]>([
  ["String()", () => String(secret), "[secret]"],
  ["concatenation", () => `key=${[secret, secret].join(",")}`, "key=[secret],[secret]"],
  ["JSON.stringify", () => JSON.stringify({ secret }), '{"secret":"[secret]"}'],
  ["inspect of what holds it", () => inspect({ a: { b: [secret] } }), "{ a: { b: [ [secret] ] } }"],
  ["inspect, all shown", () => inspect(secret, { showHidden: true, getters: true }), "[secret]"],
  ["format", () => format("%s %o %j", secret, secret, secret), '[secret] [secret] "[secret]"'],
  ["a thrown Secret", () => messageOf(secret), "[secret]"],
])("%s shows the mask", (_way, show, expected) => {
  expect(show()).toBe(expected);
});

const all = { depth: null, showHidden: true, customInspect: false } as const;
test.each<[string, () => string]>([
  ["inspect without its custom word", () => inspect(secret, all)],
  ["a structured clone", () => inspect(structuredClone({ secret }), all)],
  ["an error with it as cause", () => inspect(new Error("x", { cause: { secret } }), all)],
  [
    "a log",
    () => {
      const lines: string[] = [];
      const log = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
      const err = Object.assign(new Error("x", { cause: secret }), { secret });
      log.info({ secret, err }, "%s %j %o", secret, secret, secret);
      return lines.join("");
    },
  ],
])("%s does not give it away", (_way, show) => {
  expect(show()).not.toContain(value);
});
