import { deepStrictEqual } from "node:assert";
import { spawnSync } from "node:child_process";
import { Console } from "node:console";
import { createHmac } from "node:crypto";
import { Writable } from "node:stream";
import { format, inspect, stripVTControlCharacters, styleText } from "node:util";
import { serialize } from "node:v8";
import { receiveMessageOnPort } from "node:worker_threads";
import { pino } from "pino";
import { expect, test } from "vitest";
import { DatabaseError, messageOf } from "../src/errors.ts";
import { Secret } from "../src/secret.ts";

const value = "hKq81Zt02b";
const secret = new Secret(value);

const masked: readonly [string, () => string, string][] = [
  ["String()", () => String(secret), "[secret]"],
  ["a template", () => `${secret}`, "[secret]"],
  ["concatenation", () => `key=${[secret, secret].join(",")}`, "key=[secret],[secret]"],
  ["toString", () => secret.toString(), "[secret]"],
  ["toLocaleString", () => Object.prototype.toLocaleString.call(secret), "[secret]"],
  ["JSON.stringify", () => JSON.stringify({ secret }), '{"secret":"[secret]"}'],
  ["inspect", () => inspect(secret), "[secret]"],
  ["inspect of what holds it", () => inspect({ a: { b: [secret] } }), "{ a: { b: [ [secret] ] } }"],
  ["inspect, all shown", () => inspect(secret, { showHidden: true, getters: true }), "[secret]"],
  ["format %s", () => format("%s", secret), "[secret]"],
  ["format %o", () => format("%o", secret), "[secret]"],
  ["format %j", () => format("%j", secret), '"[secret]"'],
  ["an error's message", () => messageOf(new DatabaseError(`no ${secret}`)), "no [secret]"],
  ["a thrown Secret", () => messageOf(secret), "[secret]"],
  ["toLocaleString in a list", () => [secret].toLocaleString(), "[secret]"],
  ["+", () => `${(secret as unknown as string) + 1}`, "[secret]1"],
  ["concat", () => "".concat(secret as unknown as string), "[secret]"],
  ["format %O", () => format("%O", { secret }), "{ secret: [secret] }"],
  ["format without a word", () => format("a", secret), "a [secret]"],
  ["format %d", () => format("%d", secret), "NaN"],
  ["format %i", () => format("%i", secret), "NaN"],
  ["format %f", () => format("%f", secret), "NaN"],
  ["Number()", () => String(Number(secret)), "NaN"],
  ["a query", () => String(new URLSearchParams({ a: String(secret) })), "a=%5Bsecret%5D"],
  [
    "a query of itself",
    () => String(new URLSearchParams([["a", secret as never]])),
    "a=%5Bsecret%5D",
  ],
  ["a replacement", () => "x".replace("x", secret as unknown as string), "[secret]"],
  ["a search", () => String("[secret]".includes(secret as unknown as string)), "true"],
  ["a property's name", () => Object.keys({ [String(secret)]: 1 }).join(), "[secret]"],
  [
    "a map and a set",
    () => inspect([new Map([[secret, secret]]), new Set([secret])]),
    "[ Map(1) { [secret] => [secret] }, Set(1) { [secret] } ]",
  ],
  ["a symbol", () => Symbol(String(secret)).toString(), "Symbol([secret])"],
  ["base64 of its text", () => btoa(`${secret}`), btoa("[secret]")],
  ["styleText", () => stripVTControlCharacters(styleText("red", `${secret}`)), "[secret]"],
  ["a header", () => new Headers({ a: secret as unknown as string }).get("a") ?? "", "[secret]"],
  ["a Blob's type", () => new Blob([], { type: `${secret}` }).type, "[secret]"],
];

test.each(masked)("%s shows the mask", (_way, show, expected) => {
  expect(show()).toBe(expected);
});

const silent: readonly [string, () => string][] = [
  [
    "inspect without its custom word",
    () => inspect(secret, { customInspect: false, showHidden: true }),
  ],
  ["inspect of an error with it as cause", () => inspect(new Error("x", { cause: secret }))],
  ["its entries", () => JSON.stringify(Object.entries(secret))],
  ["all its own keys", () => Reflect.ownKeys(secret).map(String).join()],
  ["its property descriptors", () => inspect(Object.getOwnPropertyDescriptors(secret))],
  ["a structured clone", () => inspect(structuredClone({ secret }), { showHidden: true })],
  ["a spread copy", () => inspect({ ...secret }, { showHidden: true })],
  ["serialized bytes", () => serialize({ secret }).toString("latin1")],
  ["an inherited object", () => inspect(Object.create(secret), { showHidden: true, depth: null })],
  [
    "a proxy, shown as one",
    () =>
      inspect(new Proxy(secret, {}), { showProxy: true, showHidden: true, customInspect: false }),
  ],
  ["a proxy's text", () => `${inspect(new Proxy(secret, {}))}${new Proxy(secret, {})}`],
  ["an assigned copy", () => inspect(Object.assign({}, secret), { showHidden: true })],
  [
    "all that for-in finds",
    () => {
      const names: string[] = [];
      for (const name in secret) names.push(name);
      return names.join();
    },
  ],
  ["its prototype", () => inspect(Object.getPrototypeOf(secret), { showHidden: true })],
  [
    "an AggregateError",
    () =>
      inspect(new AggregateError([secret, new Error("x", { cause: { secret } })]), {
        depth: null,
        showHidden: true,
      }),
  ],
  [
    "a SuppressedError",
    () => inspect(new SuppressedError(secret, { secret }), { depth: null, showHidden: true }),
  ],
  ["a failed assertion", () => thrownBy(() => deepStrictEqual({ secret }, { secret: 1 }))],
  ["a failed expectation", () => thrownBy(() => expect({ secret }).toEqual({ secret: 1 }))],
  [
    "the message of a wrong argument",
    () => thrownBy(() => Buffer.from(secret as unknown as string)),
  ],
  [
    "the message of a wrong key",
    () => thrownBy(() => createHmac("sha256", secret as unknown as string)),
  ],
  ["the message of a call", () => thrownBy(() => (secret as unknown as () => void)())],
  [
    "a message to another thread",
    () => {
      const { port1, port2 } = new MessageChannel();
      port1.postMessage({ secret });
      const received = receiveMessageOnPort(port2 as never);
      port1.close();
      return inspect(received, { depth: null, showHidden: true });
    },
  ],
  ["its class's source", () => secret.constructor.toString().replaceAll(/\s/g, "")],
  [
    "a log",
    () => {
      const lines: string[] = [];
      const log = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
      log.info(
        { secret, err: Object.assign(new Error("x", { cause: secret }), { secret }) },
        "%s %j %o",
        secret,
        secret,
        secret,
      );
      log.error(secret as never);
      return lines.join("");
    },
  ],
  [
    "a debug log",
    () => {
      const console = new Console({ stdout: sink, stderr: sink });
      const { log, error, info, debug, warn, trace, table, dirxml, group } = console;
      for (const say of [log, error, info, debug, warn, trace, table, dirxml, group]) say(secret);
      console.log({ secret });
      console.dir({ secret }, { showHidden: true });
      console.assert(false, "%s", secret);
      console.count(`${secret}`);
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

test("the console and an uncaught error print the mask", () => {
  const script = `
    import { Secret } from "./src/secret.ts";
    const secret = new Secret(["hKq81", "Zt02b"].join(""));
    console.log(secret, { secret }, "%o", secret);
    console.table([{ secret }]);
    // Asks for no custom words.
    console.dir(secret, { showHidden: true });
    throw Object.assign(new Error(\`no \${secret}\`), { secret });`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
  });
  expect(stdout.match(/\[secret\]/g)).toHaveLength(4);
  expect(stderr).toContain("Error: no [secret]");
  expect(stdout + stderr).not.toContain(value);
});

test("reveal alone gives it out", () => {
  expect(secret.reveal()).toBe(value);
});
