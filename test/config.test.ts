import { describe, expect, test } from "vitest";
import { productTypes } from "../src/contract/product-types.ts";
import { UsageError } from "../src/errors.ts";
import { type Config, readConfig, readDatabaseConfig } from "../src/roster/config.ts";
import { selectedAccounts, selectionOf } from "../src/roster/roster.ts";
import type { Environment } from "../src/roster/settings.ts";

const credentials = {
  EXCHANGE_API_KEY: "key-hKq81",
  EXCHANGE_API_SECRET: "secret-Zt02b",
  EXCHANGE_API_PASSPHRASE: "passphrase-9uXc",
};

const read = (environment: Environment): Config =>
  readConfig({ ...credentials, ...environment }, { credentials: true });

/** What is told of a configuration that is refused. */
function refusal(attempt: () => unknown): string {
  try {
    attempt();
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return (error as UsageError).message;
  }
  throw new Error("it was not refused");
}

/** The lines that name a fault, each with its variable first. */
const faultsOf = (environment: Environment, needs = { credentials: true }): readonly string[] =>
  refusal(() => readConfig(environment, needs))
    .split("\n")
    .filter((line) => line.startsWith("  "))
    .map((line) => line.trim());

const faultsBeside = (environment: Environment) => faultsOf({ ...credentials, ...environment });

test("nothing but credentials has to be set: all else has a default", () => {
  const { baseUrl, accounts, ...config } = read({});
  expect(config).toEqual({
    accountNames: ["main"],
    namesAccounts: true,
    database: { dataDir: "./data" },
    locale: "en-US",
    settleLagMs: 600_000,
    healthLimits: { maxAgeMs: 10_800_000, ltvMax: 0.8 },
    keysFile: "mirror-keys.json",
    logLevel: "info",
    warnings: [],
  });
  expect(baseUrl.href).toBe("https://api.bitget.com/");
  const [main, ...others] = accounts;
  expect(others).toEqual([]);
  expect(main?.name).toBe("main");
  expect(main).toMatchObject({ productTypes, readsAll: true });
  expect(main?.credentials?.key.reveal()).toBe(credentials.EXCHANGE_API_KEY);
  expect(main?.credentials?.secret.reveal()).toBe(credentials.EXCHANGE_API_SECRET);
  expect(main?.credentials?.passphrase.reveal()).toBe(credentials.EXCHANGE_API_PASSPHRASE);
});

test.each([
  [{}, false, []],
  [{ SYNC_LTV: "true" }, true, []],
  [{ SYNC_LTV: "YES", RISK_UNIT_IDS: " 12, 13,,12 " }, true, ["12", "13"]],
  [{ SYNC_LTV: "1" }, true, []],
  [{ SYNC_LTV: "no" }, false, []],
  [{ SYNC_LTV: "0", RISK_UNIT_IDS: "12" }, false, ["12"]],
  [{ SYNC_LTV: "False" }, false, []],
])("loan-to-value is synced where it is asked for: %o", (environment, ltv, riskUnitIds) => {
  expect(read(environment).accounts).toMatchObject([{ ltv, riskUnitIds }]);
});

test("a command that asks for nothing signed needs no credentials, and reads none", () => {
  const { accounts } = readConfig(credentials, { credentials: false });
  expect(accounts).toStrictEqual([
    { name: "main", productTypes, readsAll: true, ltv: false, riskUnitIds: [] },
  ]);
});

const pick = {
  dataDir: ({ database }: Config) => ("dataDir" in database ? database.dataDir : undefined),
  databaseUrl: ({ database }: Config) => ("url" in database ? database.url.reveal() : undefined),
  baseUrl: ({ baseUrl }: Config) => baseUrl.href,
  locale: ({ locale }: Config) => locale,
  name: ({ accounts }: Config) => accounts[0]?.name,
  productTypes: ({ accounts }: Config) => accounts[0]?.productTypes.join(" "),
  passphrase: ({ accounts }: Config) => accounts[0]?.credentials?.passphrase.reveal(),
  settleLagMs: ({ settleLagMs }: Config) => settleLagMs,
  maxAgeMs: ({ healthLimits }: Config) => healthLimits.maxAgeMs,
  ltvMax: ({ healthLimits }: Config) => healthLimits.ltvMax,
  logLevel: ({ logLevel }: Config) => logLevel,
};

const good: readonly [keyof typeof pick, Environment, unknown][] = [
  ["dataDir", { DATA_DIR: "/srv/bills" }, "/srv/bills"],
  ["dataDir", { DATA_DIR: "/srv/bills", DATABASE_URL: " " }, "/srv/bills"],
  [
    "databaseUrl",
    { DATABASE_URL: "postgres://u:p@127.0.0.1:5433/n" },
    "postgres://u:p@127.0.0.1:5433/n",
  ],
  [
    "databaseUrl",
    { DATABASE_URL: "postgresql://h/n?sslmode=require" },
    "postgresql://h/n?sslmode=require",
  ],
  [
    "baseUrl",
    { EXCHANGE_BASE_URL: "https://exchange.example:8443" },
    "https://exchange.example:8443/",
  ],
  ["baseUrl", { EXCHANGE_BASE_URL: "http://127.0.0.1:8080" }, "http://127.0.0.1:8080/"],
  ["baseUrl", { EXCHANGE_BASE_URL: "http://localhost:1/" }, "http://localhost:1/"],
  ["baseUrl", { EXCHANGE_BASE_URL: "http://[::1]:1" }, "http://[::1]:1/"],
  ["locale", { EXCHANGE_LOCALE: "zh-CN" }, "zh-CN"],
  ["name", { EXCHANGE_ACCOUNT: "desk-1.eu_A" }, "desk-1.eu_A"],
  ["productTypes", { PRODUCT_TYPES: "COIN-FUTURES" }, "COIN-FUTURES"],
  [
    "productTypes",
    { PRODUCT_TYPES: " COIN-FUTURES, USDT-FUTURES,COIN-FUTURES," },
    "COIN-FUTURES USDT-FUTURES",
  ],
  ["productTypes", { PRODUCT_TYPES: "" }, productTypes.join(" ")],
  ["productTypes", { PRODUCT_TYPES: "UTA-SPOT, USDT-FUTURES" }, "UTA-SPOT USDT-FUTURES"],
  ["passphrase", { EXCHANGE_API_PASSPHRASE: "  with  spaces !~ " }, "with  spaces !~"],
  ["settleLagMs", { SYNC_SETTLE_MINUTES: "0" }, 0],
  ["settleLagMs", { SYNC_SETTLE_MINUTES: "1440" }, 86_400_000],
  ["maxAgeMs", { HEALTH_MAX_AGE: "90m" }, 5_400_000],
  ["maxAgeMs", { HEALTH_MAX_AGE: "2d" }, 172_800_000],
  ["ltvMax", { HEALTH_MAX_LTV: "0.65" }, 0.65],
  ["logLevel", { LOG_LEVEL: "silent" }, "silent"],
];

test.each(good)("%s is taken from %j", (value, environment, expected) => {
  expect(pick[value](read(environment))).toBe(expected);
});

const bad: readonly [Environment, RegExp][] = [
  [{ DATABASE_URL: "mysql://h/n" }, /^DATABASE_URL is not an address; write postgres:\/\/USER/],
  [{ DATABASE_URL: "/var/run/postgresql" }, /^DATABASE_URL is not an address/],
  [{ DATABASE_URL: "postgres://u:p#1@h/n" }, /a # or \/ in the password as %23 or %2F/],
  [{ EXCHANGE_BASE_URL: "api.bitget.com" }, /^EXCHANGE_BASE_URL is not a URL such as https:/],
  [{ EXCHANGE_BASE_URL: "ftp://127.0.0.1" }, /is not a URL such as/],
  [{ EXCHANGE_BASE_URL: "https://proxy.example/bitget" }, /write https:\/\/proxy\.example$/],
  [{ EXCHANGE_BASE_URL: "https://h/?a=b" }, /more than a scheme, a host and a port/],
  [{ EXCHANGE_BASE_URL: "http://api.bitget.com" }, /in the clear to api\.bitget\.com; use https/],
  [{ EXCHANGE_BASE_URL: "http://127.0.0.1.evil.example" }, /in the clear/],
  [{ EXCHANGE_BASE_URL: "http://0.0.0.0" }, /in the clear/],
  [{ EXCHANGE_LOCALE: "english" }, /^EXCHANGE_LOCALE "english" is not a tag such as en-US$/],
  [{ EXCHANGE_ACCOUNT: "desk one" }, /^EXCHANGE_ACCOUNT "desk one" is not 1 to 64 letters/],
  [{ EXCHANGE_ACCOUNT: "a".repeat(65) }, /^EXCHANGE_ACCOUNT/],
  [
    { EXCHANGE_ACCOUNT: "--help" },
    /^EXCHANGE_ACCOUNT "--help" is not .* begin with no dot or hyphen/,
  ],
  [{ PRODUCT_TYPES: "USDT-FUTURE" }, /^PRODUCT_TYPES .*, did you mean USDT-FUTURES\?$/],
  [
    { PRODUCT_TYPES: "umcbl" },
    /^PRODUCT_TYPES "umcbl" is not a product type \(there are USDT-FUTURES, COIN/,
  ],
  [{ SYNC_SETTLE_MINUTES: "1441" }, /"1441" is not a whole number of minutes from 0 to 1440$/],
  [{ SYNC_SETTLE_MINUTES: "10m" }, /^SYNC_SETTLE_MINUTES/],
  [{ HEALTH_MAX_AGE: "soon" }, /"soon" is not a duration such as 90m, 3h or 2d$/],
  [{ HEALTH_MAX_LTV: "80%" }, /"80%" is not a ratio such as 0.8$/],
  [{ SYNC_LTV: "maybe" }, /^SYNC_LTV "maybe" is not true or false$/],
  [{ RISK_UNIT_IDS: "12,1 3" }, /^RISK_UNIT_IDS "1 3" is not a risk unit's ID: 1 to 64 letters/],
  [{ LOG_LEVEL: "wran" }, /^LOG_LEVEL "wran" is not one of fatal,.*, did you mean warn\?$/],
  [
    { EXCHANGE_API_KEY: "schlüssel" },
    /^EXCHANGE_API_KEY holds a character that no header can carry/,
  ],
  [{ EXCHANGE_API_PASSPHRASE: "a\nb" }, /^EXCHANGE_API_PASSPHRASE holds a character/],
  [
    { EXCHANGE_BASEURL: "x" },
    /^EXCHANGE_BASEURL is not a variable of this program, did you mean EXCHANGE_BASE_URL\?$/,
  ],
  [{ PRODUCT_TYPE: "x" }, /^PRODUCT_TYPE is not .*, did you mean PRODUCT_TYPES\?$/],
];

test.each(bad)("%j is refused, with the remedy", (environment, expected) => {
  const [fault, ...others] = faultsBeside(environment);
  expect(fault).toMatch(expected);
  expect(others).toEqual([]);
});

test("all faults are told in one message, and where to set what they name", () => {
  const environment = {
    DATABASE_URL: "x",
    EXCHANGE_BASE_URL: "x",
    EXCHANGE_LOCALE: "x",
    EXCHANGE_ACCOUNT: "x y",
    PRODUCT_TYPES: "x,y",
    SYNC_SETTLE_MINUTES: "x",
    LOG_LEVEL: "x",
  };
  expect(faultsOf(environment).map((fault) => fault.split(" ")[0])).toEqual([
    "EXCHANGE_ACCOUNT",
    "DATABASE_URL",
    "PRODUCT_TYPES",
    "PRODUCT_TYPES",
    "SYNC_SETTLE_MINUTES",
    "LOG_LEVEL",
    "EXCHANGE_BASE_URL",
    "EXCHANGE_LOCALE",
    "EXCHANGE_API_KEY",
    "EXCHANGE_API_SECRET",
    "EXCHANGE_API_PASSPHRASE",
  ]);
  expect(refusal(() => readConfig(environment, { credentials: true }))).toContain(".env.example");
});

describe("a misspelled variable", () => {
  test("is named beside the credential that is missing", () => {
    const { EXCHANGE_API_PASSPHRASE: value, ...others } = credentials;
    expect(faultsOf({ ...others, EXCHANGE_API_PASPHRASE: value })).toEqual([
      "EXCHANGE_API_PASPHRASE is not a variable of this program, did you mean EXCHANGE_API_PASSPHRASE?",
      expect.stringMatching(/^EXCHANGE_API_PASSPHRASE is missing; the exchange gives/),
    ]);
  });

  test("is of no account where the right one is set, where it is empty, or another program's", () => {
    expect(
      read({
        EXCHANGE_BASEURL: "x",
        EXCHANGE_BASE_URL: "https://api.bitget.com",
        PRODUCT_TYPE: "",
        EXCHANGE_RATES_URL: "x",
        SYNC_TOKEN: "x",
        LOG_FORMAT: "x",
      }).warnings,
    ).toEqual([]);
  });

  test("that may be another program's is a warning, where it differs by a letter, or by two in turn", () => {
    const { warnings } = read({ DATABSE_URL: "x", LOG_LEVLE: "debug", DATA_DRI: "x" });
    expect(warnings.map((text) => text.match(/(\w+)\?$/)?.[1])).toEqual([
      "DATABASE_URL",
      "LOG_LEVEL",
      "DATA_DIR",
    ]);
  });
});

describe("--account and --product", () => {
  const config = read({ PRODUCT_TYPES: "USDT-FUTURES,COIN-FUTURES,USDC-FUTURES" });
  const narrow = (account: readonly string[] | undefined, product?: readonly string[]) =>
    selectedAccounts(
      config,
      selectionOf({ ...(account && { account }), ...(product && { product }) }),
    ).map(({ name, productTypes }) => `${name}: ${productTypes.join(" ")}`);

  test("narrow what is configured, and name nothing twice", () => {
    expect(narrow(undefined)).toEqual(["main: USDT-FUTURES COIN-FUTURES USDC-FUTURES"]);
    expect(narrow(["main"], ["COIN-FUTURES"])).toEqual(["main: COIN-FUTURES"]);
    expect(narrow(undefined, ["USDC-FUTURES,USDT-FUTURES", "USDT-FUTURES"])).toEqual([
      "main: USDT-FUTURES USDC-FUTURES",
    ]);
  });

  const refused: readonly [readonly string[] | undefined, readonly string[] | undefined, string][] =
    [
      [["mian"], undefined, "there is no account mian, did you mean main? (known: main)"],
      [
        undefined,
        ["USDT-FUTURE"],
        '--product "USDT-FUTURE" is not a product type, did you mean USDT-FUTURES?',
      ],
      [
        undefined,
        ["SCOIN-FUTURES"],
        "--product SCOIN-FUTURES is not configured: PRODUCT_TYPES or ACCOUNTS_FILE leaves it out",
      ],
    ];
  test.each(refused)("%j %j is refused", (accounts, types, message) => {
    expect(refusal(() => narrow(accounts, types))).toBe(message);
  });
});

describe("TLS is verified where the database is on another machine and nothing is said of it", () => {
  const urlOf = (DATABASE_URL: string, others: Environment = {}) => {
    const where = readDatabaseConfig({ DATABASE_URL, ...others });
    return "url" in where ? where.url.reveal() : undefined;
  };

  test.each([
    ["postgres://u:p@db.example.com/n", "?sslmode=verify-full"],
    ["postgresql://10.0.0.7:5433", "?sslmode=verify-full"],
    ["postgres://127.0.0.1.example.com/n", "?sslmode=verify-full"],
    ["postgres://u:p@localhost,db.example.com/n", "?sslmode=verify-full"],
    ["postgres://h/n?", "&sslmode=verify-full"],
    ["postgres://h/n?sslmode=", "&sslmode=verify-full"],
    ["postgres://h/n?uselibpqcompat=false", "&sslmode=verify-full"],
    ["postgres://localhost/n?host=db.example.com", "&sslmode=verify-full"],
  ])("%s", (url, added) => {
    expect(urlOf(url)).toBe(`${url}${added}`);
  });

  test.each([
    ...["localhost", "LOCALHOST:5433", "127.0.0.1", "127.9.8.7:1", "[::1]:5433", ""].map(
      (host) => `postgres://${host}/n`,
    ),
    "postgres://u:p@%2Fvar%2Frun%2Fpostgresql/n",
    "postgres:///n?host=/var/run/postgresql",
    "postgres://h/n?host=/var/run/postgresql",
    ...["disable", "no-verify", "require", "verify-full"].map(
      (mode) => `postgres://h/n?sslmode=${mode}`,
    ),
    "postgres://h/n?uselibpqcompat=true",
    "postgres://h/n?ssl=true",
    "postgres://h/n?sslrootcert=ca.pem",
  ])("and not by %s", (url) => {
    expect(urlOf(url)).toBe(url);
  });

  test("what the driver's own variables say counts, from .env too", () => {
    const url = "postgres://db.example.com/n";
    expect(urlOf(url, { PGSSLMODE: "disable" })).toBe(`${url}?sslmode=disable`);
    expect(urlOf(`${url}?sslmode=require`, { PGSSLMODE: "disable" })).toBe(
      `${url}?sslmode=require`,
    );
    expect(urlOf("postgres:///n", { PGHOST: "db.example.com" })).toBe(
      "postgres:///n?sslmode=verify-full",
    );
    expect(urlOf("postgres:///n", { PGHOST: "/var/run/postgresql" })).toBe("postgres:///n");
  });

  test("what stands behind a # is no part of the address", () => {
    expect(urlOf("postgres://h/n#x")).toBe("postgres://h/n?sslmode=verify-full");
  });
});
