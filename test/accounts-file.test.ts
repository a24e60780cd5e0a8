// ACCOUNTS_FILE: each account with its settings and its credentials, looked up each time; each fault with its place
// and remedy, and no secret shown.

import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { withCredentials } from "../src/accounts/account.ts";
import { readConfig } from "../src/accounts/config.ts";
import type { Environment } from "../src/accounts/settings.ts";
import { productTypes } from "../src/core/contract/product-types.ts";
import { UsageError } from "../src/lib/errors.ts";
import { temporaryFolder } from "./support/cli.ts";

const folder = await temporaryFolder();
afterAll(() => folder[Symbol.asyncDispose]());
const path = join(folder.path, "accounts.json");
const put = (name: string, content: unknown, mode = 0o600) =>
  writeFile(
    join(folder.path, name),
    typeof content === "string" ? content : JSON.stringify(content),
  ).then(() => chmod(join(folder.path, name), mode));

const keys = { apiKey: "key-1", apiSecret: "secret-1", apiPassphrase: "passphrase-1" };
const main = { name: "main", ...keys };
const one = (change: object) => ({ accounts: [{ ...main, ...change }] });
const canary = "CANARY-that-nobody-may-see";

/** Reads an accounts file with this content: text as it is, anything else as JSON. */
async function read(content: unknown, environment: Environment = {}, credentials = true) {
  await put("accounts.json", content);
  return readConfig({ ACCOUNTS_FILE: path, ...environment }, { credentials });
}

const errorOf = async (attempt: Promise<unknown>): Promise<UsageError> => {
  const error = await attempt.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UsageError);
  return error as UsageError;
};

/** The faults of the file with this content, without the variable's name before each. */
async function faultsOf(content: unknown, environment: Environment = {}, credentials = true) {
  const { message, faults } = await errorOf(read(content, environment, credentials));
  expect(message).toContain(`What is wrong with ACCOUNTS_FILE is in ${path}.`);
  expect(message).not.toMatch(/CANARY/);
  return faults.map((fault) => fault.replace(/^ACCOUNTS_FILE /, ""));
}

/** The account with its credentials as text. */
async function lookUp(from: string, name: string) {
  const environment = { ACCOUNTS_FILE: from, DESK: "from-variable" };
  const config = readConfig(environment, { credentials: true, accounts: [name] });
  const account = config.accounts.find((one) => one.name === name);
  if (account === undefined) throw new Error(`there is no account ${name}`);
  const { credentials, lookUp: _, ...others } = withCredentials(account);
  const { key, secret, passphrase } = credentials;
  return {
    ...others,
    ...{ apiKey: key.reveal(), apiSecret: secret.reveal(), apiPassphrase: passphrase.reveal() },
  };
}

test("each account has its keys, and what it leaves out has a default, or is as PRODUCT_TYPES says", async () => {
  const two = ["COIN-FUTURES", "USDT-FUTURES", "COIN-FUTURES"];
  const second = { ...main, name: "desk-2.eu_A", ltv: true, riskUnitIds: ["9007199254740993"] };
  const accounts = [
    main,
    { ...second, apiKey: "key-2", productTypes: two },
    { ...main, name: "demo", apiKey: "key-3", demo: true },
  ];
  expect((await read({ accounts })).warnings).toEqual([]);
  expect(await lookUp(path, "main")).toEqual({ ...main, productTypes, readsAll: true });
  const productTypesOfSecond = { productTypes: ["COIN-FUTURES", "USDT-FUTURES"] };
  expect(await lookUp(path, "desk-2.eu_A")).toEqual({
    ...{ ...second, apiKey: "key-2" },
    ...productTypesOfSecond,
  });
  const typesWith = async (PRODUCT_TYPES: string) =>
    (await read({ accounts }, { PRODUCT_TYPES })).accounts.map((account) =>
      account.productTypes.join(),
    );
  const [all, demo] = [productTypes, productTypes.filter((type) => !/^S|FUNDING/.test(type))];
  // An account of demo trading reads those of these that a demo key can, or all.
  for (const [wanted, ofMain, ofDemo] of [
    ["", all.join(), demo.join()],
    ["USDT-FUTURES", "USDT-FUTURES", "USDT-FUTURES"],
    ["SUSDT-FUTURES", "SUSDT-FUTURES", demo.join()],
    ["USDT-FUTURES,SCOIN-FUTURES", "USDT-FUTURES,SCOIN-FUTURES", "USDT-FUTURES"],
  ] as const)
    expect(await typesWith(wanted)).toEqual([ofMain, "COIN-FUTURES,USDT-FUTURES", ofDemo]);
});

test("a credential is a text, a variable's or a file's without its line's end", async () => {
  await put("pass", "from file \r\n");
  const entry = { ...main, apiKey: { env: "DESK" }, apiPassphrase: { file: "pass" } };
  await put("accounts.json", { accounts: [entry] });
  expect(await lookUp(path, "main")).toMatchObject({
    ...{ apiKey: "from-variable", apiSecret: "secret-1", apiPassphrase: "from file " },
  });
  // A command of the program that needs none looks up none, and checks the form.
  const away = { apiKey: { env: "NONE" }, apiSecret: { file: "none" } };
  expect((await read(one(away), {}, false)).accounts).toMatchObject([{ name: "main" }]);
  expect(await faultsOf(one({ ...away, apiKey: 7 }), {}, false)).toHaveLength(1);
});

test("a directory has a file an account, of which only the one that is asked for is read, each time anew", async () => {
  const directory = join(folder.path, "mounted");
  await mkdir(join(directory, "..data"), { recursive: true });
  await put("mounted/fund-1.json", { ...keys, productTypes: ["USDT-FUTURES"] });
  await put("mounted/fund-2.json", { ...keys, apiKey: { env: "DESK" } });
  await put("mounted/broken.json", "{");
  const environment = { ACCOUNTS_FILE: directory };
  expect(readConfig(environment, { credentials: false, accounts: [] }).accountNames).toEqual([
    "broken",
    "fund-1",
    "fund-2",
  ]);
  expect(await lookUp(directory, "fund-1")).toMatchObject({
    ...{ ...keys, name: "fund-1", productTypes: ["USDT-FUTURES"] },
  });
  expect(await lookUp(directory, "fund-2")).toMatchObject({ apiKey: "from-variable" });
  await put("mounted/fund-1.json", { ...keys, apiKey: "key-2" }, 0o644);
  expect(await lookUp(directory, "fund-1")).toMatchObject({ apiKey: "key-2" });
  await expect(lookUp(directory, "broken")).rejects.toThrow("broken.json: is not JSON");
  expect(() => readConfig(environment, { credentials: true })).toThrow("broken.json: is not JSON");
  const { warnings } = readConfig(environment, { credentials: true, accounts: ["fund-1"] });
  expect(warnings).toEqual([expect.stringMatching(/mounted\/fund-1\.json holds credentials, and/)]);
});

const noReference = 'is neither a text nor {"env": "NAME"} nor {"file": "PATH"}';
const wrong: readonly (readonly [unknown, string])[] = [
  [{ accounts: {} }, 'accounts: is not a list of accounts; write {"accounts": [{"name": '],
  [[main], "is not an object in braces"],
  [one({ name: undefined }), "accounts[0].name: is missing; it is 1 to 64 letters"],
  [one({ name: "desk one" }), "accounts[0].name: is not 1 to 64 letters"],
  [one({ name: "CANARY/+=" }), "accounts[0].name: is not 1 to 64 letters"],
  [one({ apiKey: undefined }), "accounts[0].apiKey: is missing; the exchange gives it when"],
  [one({ apiPassphrase: 1 }), `accounts[0].apiPassphrase: ${noReference}`],
  [one({ apiKey: { vault: "A" } }), `accounts[0].apiKey: ${noReference}`],
  [one({ apiSecret: { CANARY: "x" } }), `accounts[0].apiSecret: ${noReference}`],
  [one({ apiSecret: { command: ["cat", "secret"] } }), `accounts[0].apiSecret: ${noReference}`],
  [one({ apiPasphrase: "x" }), "accounts[0].apiPasphrase: is not a key of this file, did you mean"],
  [one({ CANARY: "x" }), "accounts[0]"],
  [{ accounts: [main], acounts: [] }, "acounts: is not a key of this file, did you mean accounts?"],
  [one({ productTypes: ["USDT-FUTURE"] }), 'accounts[0].productTypes: "USDT-FUTURE" is not a pro'],
  [one({ productTypes: "USDT-FUTURES" }), "accounts[0].productTypes: is not a list of texts in"],
  [one({ ltv: "true" }), "accounts[0].ltv: is neither true nor false"],
  [one({ demo: "CANARY" }), "accounts[0].demo: is neither true nor false"],
  [one({ riskUnitIds: ["1"] }), 'accounts[0].riskUnitIds: has no use without "ltv": true'],
  [
    { accounts: [main, { ...main, apiKey: "other" }] },
    "accounts[1].name: is the same name as accounts[0].name; remove one",
  ],
  // A parser's own message would show the text around the fault.
  [`{"accounts": [{"apiSecret": ${canary}}]}`, "is not JSON"],
  [`{"accounts": [\n  {"apiSecret": "${canary}",}]}`, "is not JSON at line 2, column "],
  ["", "is not JSON"],
];

test.each(wrong)(
  "%j is refused, with its place and the remedy, and no secret",
  async (content, expected) => {
    const [fault, ...others] = await faultsOf(content);
    expect(fault?.slice(0, expected.length)).toBe(expected);
    expect(others).toEqual([]);
  },
);

test("all faults are told at once, those of other variables beside them", async () => {
  const accounts = [{ name: "", apiKey: "k" }, { ...main, ltv: 1 }, 3];
  const environment = { LOG_LEVEL: "loud", PRODUCT_TYPE: "x", ACCOUNT_NAME: "x" };
  const faults = await faultsOf({ accounts }, environment);
  expect(faults.map((fault) => fault.split(" ")[0])).toEqual([
    ...["LOG_LEVEL", "PRODUCT_TYPE", "is", "accounts[0].name:", "accounts[0].apiSecret:"],
    ...["accounts[0].apiPassphrase:", "accounts[1].ltv:", "accounts[2]:"],
  ]);
  expect(faults).toContain(
    "is set together with the variables of a single account (ACCOUNT_NAME); remove one or the other",
  );
  await writeFile(join(folder.path, "file"), "");
  for (const [name, code] of [
    ["missing.json", "ENOENT"],
    ["file/accounts.json", "ENOTDIR"],
  ] as const) {
    const environment = { ACCOUNTS_FILE: join(folder.path, name) };
    expect(() => readConfig(environment, { credentials: true })).toThrow(
      `ACCOUNTS_FILE cannot be read (${code}); correct the path ${environment.ACCOUNTS_FILE}`,
    );
  }
});

test.each<[object, string]>([
  [{ apiSecret: "" }, "apiSecret is empty; the exchange gives it when you create an API key"],
  [{ apiKey: { env: "NO_SUCH" } }, "apiKey: the variable that it names is not set; set it, or"],
  [{ apiSecret: "a\nb" }, "apiSecret holds a character that no header can carry; copy it again"],
  [{ apiSecret: { file: "missing" } }, "apiSecret: the file that it names cannot be read (ENOENT)"],
  [{ apiKey: { file: canary } }, "apiKey: the file that it names cannot be read (ENOENT)"],
])("credentials of which %j is one stop their account alone", async (change, message) => {
  await put("accounts.json", one(change));
  const error = await errorOf(lookUp(path, "main"));
  expect(error.message).toContain(`account main: ${message}`);
  expect(error.message).not.toContain(canary);
});

test("a file that other users may read is told of, where a credential stands in it", async () => {
  const { apiKey: _, ...others } = main;
  const references = {
    name: "m",
    apiKey: { env: "A" },
    apiSecret: { env: "B" },
    apiPassphrase: { env: "C" },
  };
  for (const [mode, accounts, isTold] of [
    ...[0o640, 0o604, 0o644].map((mode) => [mode, [main], true] as const),
    ...[0o600, 0o400].map((mode) => [mode, [main], false] as const),
    [0o644, [references], false],
    [0o644, [references, { ...others, apiKey: { env: "A" } }], true],
  ] as const) {
    await put("shown.json", { accounts }, mode);
    const shown = join(folder.path, "shown.json");
    const environment = { ACCOUNTS_FILE: shown, A: "a", B: "b", C: "c" };
    expect(readConfig(environment, { credentials: true }).warnings).toEqual(
      isTold
        ? [
            `${shown} holds credentials, and other users may read or change it; run chmod 600 ${shown}`,
          ]
        : [],
    );
    await rm(shown);
  }
});
