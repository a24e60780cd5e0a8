import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { productTypes } from "../src/contract/product-types.ts";
import { UsageError } from "../src/errors.ts";
import { withCredentials } from "../src/roster/account.ts";
import { type Config, readConfig } from "../src/roster/config.ts";
import type { Environment } from "../src/roster/settings.ts";

let folder = "";
let path = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "bill-sync-accounts-"));
  path = join(folder, "accounts.json");
});
afterAll(() => rm(folder, { recursive: true }));

const keys = { apiKey: "key-1", apiSecret: "secret-1", apiPassphrase: "passphrase-1" };
const otherKeys = { apiKey: "key-2", apiSecret: "secret-2", apiPassphrase: "passphrase-2" };
const main = { name: "main", ...keys };

/** Reads an accounts file with this content: text as it is, anything else as JSON. */
async function read(
  content: unknown,
  environment: Environment = {},
  needs = { credentials: true },
): Promise<Config> {
  await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
  await chmod(path, 0o600);
  return readConfig({ ACCOUNTS_FILE: path, ...environment }, needs);
}

/** The faults of the file with these accounts, without the variable's name before each. */
async function faultsOf(
  content: unknown,
  environment: Environment = {},
  needs?: { credentials: boolean },
) {
  const error = await read(content, environment, needs).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UsageError);
  const { message, faults } = error as UsageError;
  expect(message).toContain(`What is wrong with ACCOUNTS_FILE is in ${path}.`);
  for (const fault of faults) expect(message).toContain(`\n  ${fault}\n`);
  return faults.map((fault) => fault.replace(/^ACCOUNTS_FILE /, ""));
}

const signal = AbortSignal.timeout(60_000);

const shown = ({ accounts }: Config) =>
  Promise.all(
    accounts.map(async (account) => {
      const { credentials, lookUp: _, ...settings } = await withCredentials(account, signal);
      return {
        ...settings,
        apiKey: credentials.key.reveal(),
        apiSecret: credentials.secret.reveal(),
        apiPassphrase: credentials.passphrase.reveal(),
      };
    }),
  );

/** Why the account's credentials cannot be read. */
async function lookUpFault(change: object): Promise<string> {
  const { accounts } = await read(one(change));
  const [error] = await Promise.all(
    accounts.map((account) => withCredentials(account, signal).catch((thrown: unknown) => thrown)),
  );
  expect(error).toBeInstanceOf(UsageError);
  return (error as UsageError).message;
}

test("each account has its keys, and what it leaves out has a default", async () => {
  const second = {
    name: "desk-2.eu_A",
    ...otherKeys,
    productTypes: ["COIN-FUTURES", "USDT-FUTURES", "COIN-FUTURES"],
    ltv: true,
    riskUnitIds: ["9007199254740993"],
    demo: false,
  };
  const config = await read({ accounts: [main, second] });
  const { demo: _, ...expected } = second;
  expect(await shown(config)).toEqual([
    { ...main, productTypes, readsAll: true },
    { ...expected, productTypes: ["COIN-FUTURES", "USDT-FUTURES"] },
  ]);
  expect(config.warnings).toEqual([]);
});

test("PRODUCT_TYPES holds for the accounts that name none; one of demo trading reads those that a demo key can", async () => {
  const demoTypes = productTypes.filter((type) => !/^S|FUNDING/.test(type));
  const accounts = [
    main,
    { name: "own", ...otherKeys, productTypes: ["USDC-FUTURES"] },
    { name: "demo", ...otherKeys, apiKey: "key-3", demo: true },
  ];
  const typesWith = async (PRODUCT_TYPES: string) =>
    (await read({ accounts }, { PRODUCT_TYPES })).accounts.map((account) => account.productTypes);
  expect(await typesWith("")).toEqual([productTypes, ["USDC-FUTURES"], demoTypes]);
  const [one, other] = [["USDT-FUTURES"], ["SUSDT-FUTURES"]];
  expect(await typesWith("USDT-FUTURES")).toEqual([one, ["USDC-FUTURES"], one]);
  expect(await typesWith("SUSDT-FUTURES")).toEqual([other, ["USDC-FUTURES"], demoTypes]);
  expect(await typesWith("USDT-FUTURES,SCOIN-FUTURES")).toEqual([
    ["USDT-FUTURES", "SCOIN-FUTURES"],
    ["USDC-FUTURES"],
    ["USDT-FUTURES"],
  ]);
});

describe("a credential", () => {
  test("comes from a variable or from a file beside the accounts file, without its line's end", async () => {
    await writeFile(join(folder, "secret"), "from file \r\n");
    const account = { ...main, apiKey: { env: "DESK_KEY" }, apiSecret: { file: "secret" } };
    const config = await read({ accounts: [account] }, { DESK_KEY: "from-variable" });
    expect(await shown(config)).toMatchObject([
      { apiKey: "from-variable", apiSecret: "from file " },
    ]);
  });

  test("is not looked up for a command that needs none, and its form is checked all the same", async () => {
    const away = { ...main, apiKey: { env: "NONE" }, apiSecret: { file: "none" } };
    const needs = { credentials: false };
    const { accounts } = await read({ accounts: [away] }, {}, needs);
    expect(accounts).toMatchObject([{ name: "main", productTypes, readsAll: true }]);
    expect(await faultsOf({ accounts: [{ ...away, apiKey: 7 }] }, {}, needs)).toHaveLength(1);
  });
});

const origin = "the exchange gives it when you create an API key";
const noReference = 'is neither a text nor {"env": "NAME"} nor {"file": "PATH"}';
const one = (change: object) => ({ accounts: [{ ...main, ...change }] });

const wrong: readonly [string, unknown, string][] = [
  [
    "no list",
    { accounts: {} },
    'accounts: is not a list of accounts; write {"accounts": [{"name": "main", …}]}',
  ],
  ["a bare list", [main], "is not an object in braces"],
  ["an account that is none", { accounts: [main, "x"] }, "accounts[1]: is not an object in braces"],
  ["no name", one({ name: undefined }), "accounts[0].name: is missing; it is 1 to 64 letters"],
  ["a bad name", one({ name: "desk one" }), "accounts[0].name: is not 1 to 64 letters"],
  ["no key", one({ apiKey: undefined }), `accounts[0].apiKey: is missing; ${origin}`],
  [
    "a number for a passphrase",
    one({ apiPassphrase: 1 }),
    `accounts[0].apiPassphrase: ${noReference}`,
  ],
  ["an unknown reference", one({ apiKey: { vault: "A" } }), `accounts[0].apiKey: ${noReference}`],
  [
    "an empty program for all three",
    { accounts: [{ name: "main", credentials: { command: ["", "x"] } }] },
    'accounts[0].credentials: is not {"command": ["PROGRAM", …]}',
  ],
  [
    "a misspelled key",
    one({ apiPasphrase: "x" }),
    "accounts[0].apiPasphrase: is not a key of this file, did you mean apiPassphrase?",
  ],
  [
    "a misspelled list",
    { accounts: [main], acounts: [] },
    "acounts: is not a key of this file, did you mean accounts?",
  ],
  [
    "a product type that is none",
    one({ productTypes: ["USDT-FUTURE"] }),
    'accounts[0].productTypes: "USDT-FUTURE" is not a product type, did you mean USDT-FUTURES?',
  ],
  [
    "product types in one text",
    one({ productTypes: "USDT-FUTURES" }),
    "accounts[0].productTypes: is not a list of texts in quotes; leave it out, or",
  ],
  [
    "product types of a live key with a demo key",
    one({ demo: true, productTypes: ["SUSDT-FUTURES", "USDT-FUTURES"] }),
    'accounts[0].productTypes: "SUSDT-FUTURES" is read by live keys only',
  ],
  ["a flag in quotes", one({ ltv: "true" }), "accounts[0].ltv: is neither true nor false"],
  [
    "risk units without ltv",
    one({ riskUnitIds: ["1"] }),
    'accounts[0].riskUnitIds: has no use without "ltv": true',
  ],
  [
    "a name twice",
    { accounts: [main, { ...main, apiKey: "other" }] },
    "accounts[1].name: is the same name as accounts[0].name; remove one",
  ],
];

test.each(wrong)(
  "%s is refused, with its place and the remedy",
  async (_title, content, expected) => {
    const [fault, ...others] = await faultsOf(content);
    expect(fault?.slice(0, expected.length)).toBe(expected);
    expect(others).toEqual([]);
  },
);

const unreadable: readonly (readonly [string, object, string])[] = [
  ["is empty", { apiSecret: "" }, `account main: apiSecret is empty; ${origin}`],
  [
    "is in a variable that is not set",
    { apiKey: { env: "NO_SUCH" } },
    "account main: apiKey: the variable that it names is not set; set it, or correct its name",
  ],
  [
    "holds a line break",
    { apiSecret: "a\nb" },
    "account main: apiSecret holds a character that no header can carry; copy it again",
  ],
];

test.each(unreadable)(
  "a credential that %s stops its account alone",
  async (_, change, message) => {
    expect(await lookUpFault(change)).toBe(message);
  },
);

test("all faults are told at once, those of other variables beside them", async () => {
  const accounts = [{ name: "", apiKey: "k" }, { ...main, ltv: 1 }, 3];
  expect(await faultsOf({ accounts }, { LOG_LEVEL: "loud", PRODUCT_TYPE: "x" })).toEqual([
    expect.stringMatching(/^LOG_LEVEL "loud"/),
    expect.stringMatching(/^PRODUCT_TYPE is not a variable/),
    expect.stringMatching(/^accounts\[0\]\.name/),
    expect.stringMatching(/^accounts\[0\]\.apiSecret/),
    expect.stringMatching(/^accounts\[0\]\.apiPassphrase/),
    expect.stringMatching(/^accounts\[1\]\.ltv/),
    expect.stringMatching(/^accounts\[2\]/),
  ]);
});

describe("a file that is not JSON is told with the place and none of its text", () => {
  const secret = "zzTopSecret";
  test.each([
    [`{"accounts": [{"apiSecret": ${secret}}]}`, /^is not JSON.*; often a comma is wrong$/],
    [`{"accounts": [\n  {"apiSecret": "${secret}",}]}`, /^is not JSON at line 2, column \d+;/],
    [secret, /^is not JSON/],
    ["", /^is not JSON/],
  ])("%s", async (content, expected) => {
    const [fault, ...others] = await faultsOf(content);
    expect(fault).toMatch(expected);
    expect(others).toEqual([]);
    for (const length of [secret.length, 4]) expect(fault).not.toContain(secret.slice(0, length));
  });
});

test("a file that cannot be read is told with its path", async () => {
  const missing = join(folder, "missing.json");
  const attempt = () => readConfig({ ACCOUNTS_FILE: missing }, { credentials: true });
  expect(attempt).toThrow(`ACCOUNTS_FILE cannot be read (ENOENT); correct the path ${missing}`);
  expect(await lookUpFault({ apiSecret: { file: "missing" } })).toBe(
    `account main: apiSecret: the file that it names cannot be read (ENOENT); correct its path, from ${folder} on, or its permissions`,
  );
});

test.each<[string, object]>([
  ["a kind of reference", { apiSecret: { CANARY: "x" } }],
  ["a key", { CANARY: "x" }],
  ["a name", { name: "CANARY/+=" }],
  ["a flag", { demo: "CANARY" }],
])("a secret that stands for %s is not shown, but its place is", async (_, change) => {
  const [fault, ...others] = await faultsOf(one(change));
  expect(fault).toMatch(/^accounts\[0\]/);
  expect(fault).not.toContain("CANARY");
  expect(others).toEqual([]);
});

test.each([["EXCHANGE_API_KEY"], ["EXCHANGE_API_SECRET"], ["EXCHANGE_ACCOUNT"]])(
  "%s beside an accounts file is refused: one of them would be left out",
  async (name) => {
    expect(await faultsOf({ accounts: [main] }, { [name]: "x" })).toEqual([
      `is set together with the variables of a single account (${name}); remove one or the other`,
    ]);
  },
);

describe("a file that other users may read", () => {
  const warningsAt = async (mode: number, accounts: readonly object[]) => {
    await read({ accounts: [main] });
    await writeFile(path, JSON.stringify({ accounts }));
    await chmod(path, mode);
    return readConfig({ ACCOUNTS_FILE: path, A: "a", B: "b", C: "c" }, { credentials: true })
      .warnings;
  };
  const told = () => [
    `${path} holds credentials, and other users may read or change it; run chmod 600 ${path}`,
  ];
  const references = {
    name: "m",
    apiKey: { env: "A" },
    apiSecret: { env: "B" },
    apiPassphrase: { env: "C" },
  };

  test("is told of, and used", async () => {
    for (const mode of [0o640, 0o604, 0o644])
      expect(await warningsAt(mode, [main])).toEqual(told());
    for (const mode of [0o600, 0o400]) expect(await warningsAt(mode, [main])).toEqual([]);
  });

  test("is nothing to tell of where no credential stands in it", async () => {
    expect(await warningsAt(0o644, [references])).toEqual([]);
    expect(await warningsAt(0o644, [references, { ...main, apiKey: { env: "B" } }])).toEqual(
      told(),
    );
  });
});
