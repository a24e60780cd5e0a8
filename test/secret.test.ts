import { spawnSync } from "node:child_process";
import { format, inspect } from "node:util";
import { serialize } from "node:v8";
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
];

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
