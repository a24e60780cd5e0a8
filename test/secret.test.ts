// Holds: Quiet secrets

import { Console } from "node:console";
import { createHmac } from "node:crypto";
import { Writable } from "node:stream";
import { format, inspect } from "node:util";
import { serialize } from "node:v8";
import { pino } from "pino";
import { expect, test } from "vitest";
import { messageOf } from "../src/errors.ts";
import { Secret } from "../src/secret.ts";

const value = "hKq81Zt02b";
const secret = new Secret(value);

// Every other way to a text goes through one of these.
const masked: readonly [string, () => string, string][] = [
  ["String()", () => String(secret), "[secret]"],
  ["concatenation", () => `key=${[secret, secret].join(",")}`, "key=[secret],[secret]"],
  ["toLocaleString", () => [secret].toLocaleString(), "[secret]"],
  ["Number()", () => String(Number(secret)), "NaN"],
  ["JSON.stringify", () => JSON.stringify({ secret }), '{"secret":"[secret]"}'],
  ["inspect of what holds it", () => inspect({ a: { b: [secret] } }), "{ a: { b: [ [secret] ] } }"],
  ["inspect, all shown", () => inspect(secret, { showHidden: true, getters: true }), "[secret]"],
  [
    "format",
    () => format("%s %o %j %d", secret, secret, secret, secret),
    '[secret] [secret] "[secret]" NaN',
  ],
  ["a thrown Secret", () => messageOf(secret), "[secret]"],
  ["a header", () => new Headers({ a: secret as unknown as string }).get("a") ?? "", "[secret]"],
];

test.each(masked)("%s shows the mask", (_way, show, expected) => {
  expect(show()).toBe(expected);
});

const all = { depth: null, showHidden: true, customInspect: false } as const;
const silent: readonly [string, () => string][] = [
  ["inspect without its custom word", () => inspect(secret, all)],
  ["all its own keys", () => Reflect.ownKeys(secret).map(String).join()],
  ["a structured clone", () => inspect(structuredClone({ secret }), all)],
  ["serialized bytes", () => serialize({ secret }).toString("latin1")],
  ["an inherited object", () => inspect(Object.create(secret), all)],
  ["a proxy", () => inspect(new Proxy(secret, {}), { ...all, showProxy: true })],
  ["its prototype", () => inspect(Object.getPrototypeOf(secret), all)],
  ["an error with it as cause", () => inspect(new Error("x", { cause: { secret } }), all)],
  ["a failed expectation", () => thrownBy(() => expect({ secret }).toEqual({ secret: 1 }))],
  [
    "the message of a wrong argument",
    () => thrownBy(() => createHmac("sha256", secret as unknown as string)),
  ],
  ["its class's source", () => secret.constructor.toString().replaceAll(/\s/g, "")],
  [
    "a log",
    () => {
      const lines: string[] = [];
      const log = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
      const err = Object.assign(new Error("x", { cause: secret }), { secret });
      log.info({ secret, err }, "%s %j %o", secret, secret, secret);
      log.error(secret as never);
      return lines.join("");
    },
  ],
  [
    "a debug log",
    () => {
      const console = new Console({ stdout: sink, stderr: sink });
      for (const say of [console.log, console.trace, console.table, console.group]) say(secret);
      console.dir({ secret }, { showHidden: true });
      return sunk.join("");
    },
  ],
];

const sunk: string[] = [];
const sink = new Writable({
  write: (chunk, _encoding, done) => {
    sunk.push(String(chunk));
    done();
  },
});

function thrownBy(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return `${inspect(error, { depth: null, showHidden: true })}${error instanceof Error ? error.message : ""}`;
  }
  throw new Error("nothing was thrown");
}

test.each(silent)("%s does not give it away", (_way, show) => {
  expect(show()).not.toContain(value);
});
