import { expect, test } from "vitest";
import { readConfig } from "../src/accounts/config.ts";
import { selectedAccounts, selectionOf } from "../src/accounts/roster.ts";
import type { Environment } from "../src/accounts/settings.ts";
import { productTypes } from "../src/core/contract/product-types.ts";
import { UsageError } from "../src/lib/errors.ts";

const credentials = {
  EXCHANGE_API_KEY: "key-hKq81",
  EXCHANGE_API_SECRET: "secret-Zt02b",
  EXCHANGE_API_PASSPHRASE: "passphrase-9uXc",
};

/** A configuration as plain text and numbers, the one account's fields among them. */
async function read(environment: Environment, isSigned = true) {
  const { database, baseUrl, proxy, accounts, ...config } = readConfig(
    { ...credentials, ...environment },
    { credentials: isSigned },
  );
  const [{ lookUp, ...account } = { lookUp: undefined }, ...others] = accounts;
  const keys = lookUp?.();
  expect(others).toEqual([]);
  return {
    ...{ ...config, ...account, baseUrl: baseUrl.href, proxy: proxy?.reveal() },
    database: "url" in database ? database.url.reveal() : database.dataDir,
    keys: keys && [keys.key, keys.secret, keys.passphrase].map((secret) => secret.reveal()),
  };
}

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
const faultsOf = (environment: Environment): readonly string[] =>
  refusal(() => readConfig(environment, { credentials: true }))
    .split("\n")
    .flatMap((line) => (line.startsWith("  ") ? [line.trim()] : []));

const defaults = {
  accountNames: ["main"],
  namesAccounts: true,
  name: "main",
  productTypes,
  readsAll: true,
  ltv: false,
  riskUnitIds: [],
  keys: Object.values(credentials),
  baseUrl: "https://api.bitget.com/",
  proxy: undefined,
  database: "./data",
  settleLagMs: 600_000,
  recoverFrom: undefined,
  healthLimits: { maxAgeMs: 10_800_000, ltvMax: 0.8 },
  keysFile: "mirror-keys.json",
  logLevel: "info",
  warnings: [],
};

test("nothing but credentials has to be set, which a command that asks for nothing signed does not read", async () => {
  expect(await read({})).toEqual(defaults);
  expect(await read({}, false)).toEqual({ ...defaults, keys: undefined });
  // Whether somebody named an account at all.
  for (const [environment, namesAccounts] of [
    [{}, false],
    [{ ACCOUNT_NAME: "a" }, true],
  ] as const)
    expect(readConfig(environment, { credentials: false })).toMatchObject({ namesAccounts });
});

test.each<[Environment, object]>([
  [{ DATA_DIR: "/srv/bills", DATABASE_URL: " " }, { database: "/srv/bills" }],
  [{ DATABASE_URL: "postgres://u:p@127.0.0.1/n" }, { database: "postgres://u:p@127.0.0.1/n" }],
  [
    { EXCHANGE_BASE_URL: "https://exchange.example:8443" },
    { baseUrl: "https://exchange.example:8443/" },
  ],
  [{ EXCHANGE_BASE_URL: "http://127.0.0.1:8080" }, { baseUrl: "http://127.0.0.1:8080/" }],
  [{ EXCHANGE_BASE_URL: "http://[::1]:1" }, { baseUrl: "http://[::1]:1/" }],
  [{ HTTPS_PROXY: "http://u:p@h:3128" }, { proxy: "http://u:p@h:3128/" }],
  [{ HTTPS_PROXY: "h:3128", NO_PROXY: "get.com,api.bitget.com:80" }, { proxy: "http://h:3128/" }],
  [
    { https_proxy: "https://h", HTTP_PROXY: "x" },
    { proxy: "https://h/", warnings: [] },
  ],
  [{ HTTPS_PROXY: "http://h", EXCHANGE_BASE_URL: "http://127.0.0.1:1" }, { proxy: undefined }],
  [{ HTTPS_PROXY: "http://h", NO_PROXY: "a, .bitget.com" }, { proxy: undefined }],
  [{ HTTPS_PROXY: "http://h", no_proxy: "API.bitget.com:443" }, { proxy: undefined }],
  [{ HTTPS_PROXY: "http://h", NO_PROXY: "*" }, { proxy: undefined }],
  [{ ACCOUNT_NAME: "desk-1.eu_A" }, { name: "desk-1.eu_A" }],
  [
    { PRODUCT_TYPES: " UTA-SPOT, USDT-FUTURES,UTA-SPOT," },
    { productTypes: ["UTA-SPOT", "USDT-FUTURES"] },
  ],
  [{ PRODUCT_TYPES: "" }, { productTypes }],
  [
    { EXCHANGE_API_SECRET: "  with  spaces !~ " },
    { keys: expect.arrayContaining(["with  spaces !~"]) },
  ],
  [{ SYNC_SETTLE_MINUTES: "1440" }, { settleLagMs: 86_400_000 }],
  [{ RECOVER_FROM: "none" }, { recoverFrom: "none" }],
  [{ RECOVER_FROM: "2024-01-31" }, { recoverFrom: Date.UTC(2024, 0, 31) }],
  [{ HEALTH_MAX_AGE: "90m" }, { healthLimits: { maxAgeMs: 5_400_000, ltvMax: 0.8 } }],
  [{ HEALTH_MAX_AGE: "2d" }, { healthLimits: { maxAgeMs: 172_800_000, ltvMax: 0.8 } }],
  [{ HEALTH_MAX_LTV: "0.65" }, { healthLimits: { maxAgeMs: 10_800_000, ltvMax: 0.65 } }],
  [{ LOG_LEVEL: "silent" }, { logLevel: "silent" }],
  [
    { SYNC_LTV: "YES", RISK_UNIT_IDS: " 12, 13,,12 " },
    { ltv: true, riskUnitIds: ["12", "13"] },
  ],
  [
    { SYNC_LTV: "False", RISK_UNIT_IDS: "12" },
    { ltv: false, riskUnitIds: ["12"] },
  ],
  // The right one is set, it is empty, or another program's.
  [{ EXCHANGE_BASEURL: "x", EXCHANGE_BASE_URL: "https://h" }, { baseUrl: "https://h/" }],
  [
    { PRODUCT_TYPE: "", EXCHANGE_RATES_URL: "x", SYNC_TOKEN: "x", LOG_FORMAT: "x" },
    { warnings: [] },
  ],
  // A credential may have quotes.
  [
    { EXCHANGE_API_KEY: '"key"' },
    {
      warnings: [
        expect.stringMatching(/^EXCHANGE_API_KEY has quotes around its value, which docker/),
      ],
    },
  ],
  // What may be another program's is a warning, where it differs by a letter.
  [
    { DATABSE_URL: "x", LOG_LEVL: "x" },
    { warnings: [/DATABASE_URL\?$/, /LOG_LEVEL\?$/].map((one) => expect.stringMatching(one)) },
  ],
])("%j is read", async (environment, expected) => {
  expect(await read(environment)).toMatchObject(expected);
});

test.each<[Environment, RegExp]>([
  [{ DATABASE_URL: "mysql://h/n" }, /^DATABASE_URL is not an address; write postgres:\/\/USER/],
  [{ DATABASE_URL: "postgres://u:p#1@h/n" }, /#, \/ or \? in the password as %40, %23, %2F or %3F/],
  [{ DATA_DIR: '"./data"' }, /^DATA_DIR has quotes around its value, which docker run --env-file/],
  [{ HEALTH_MAX_LTV: "0.5", HTTPS_PROXY: "socks5://h:1" }, /^HTTPS_PROXY is not the address of a/],
  [{ EXCHANGE_BASE_URL: "api.bitget.com" }, /^EXCHANGE_BASE_URL is not a URL such as https:/],
  [{ EXCHANGE_BASE_URL: "ftp://127.0.0.1" }, /is not a URL such as/],
  [{ EXCHANGE_BASE_URL: "https://proxy.example/bitget" }, /write https:\/\/proxy\.example$/],
  [{ EXCHANGE_BASE_URL: "https://h/?a=b" }, /more than a scheme, a host and a port/],
  [{ EXCHANGE_BASE_URL: "http://api.bitget.com" }, /in the clear to api\.bitget\.com; use https/],
  [{ EXCHANGE_BASE_URL: "http://127.0.0.1.evil.example" }, /in the clear/],
  [{ ACCOUNT_NAME: "desk one" }, /^ACCOUNT_NAME "desk one" is not 1 to 64 letters/],
  [{ ACCOUNT_NAME: "a".repeat(65) }, /^ACCOUNT_NAME/],
  [{ ACCOUNT_NAME: "--help" }, /^ACCOUNT_NAME "--help" is not .* no dot or hyphen/],
  [{ PRODUCT_TYPES: "USDT-FUTURE" }, /^PRODUCT_TYPES .*, did you mean USDT-FUTURES\?$/],
  [{ PRODUCT_TYPES: "umcbl" }, /^PRODUCT_TYPES "umcbl" is not .* \(there are USDT-FUTURES, COIN/],
  [{ SYNC_SETTLE_MINUTES: "1441" }, /"1441" is not a whole number of minutes from 0 to 1440$/],
  // Bills would go into another database.
  [{ database_url: "x" }, /^database_url is not .*, did you mean DATABASE_URL\?$/],
  [{ "\u00a0DATABASE_URL": "x" }, /^DATABASE_URL is named in \.env or the environment, in a form/],
  [{ "set DATABASE_URL": "x" }, /^DATABASE_URL is named in .*; write DATABASE_URL=VALUE$/],
  [{ "$env:DATABASE_URL": "x" }, /^DATABASE_URL is named in /],
  [{ "DATABASE_URL: postgres://u:hunter2@h/n?sslmode": "x" }, /^DATABASE_URL [^/]*$/],
  [{ RECOVER_FROM: "2024-02-30" }, /^RECOVER_FROM "2024-02-30" is not a day such as 2024-01-31/],
  [{ RECOVER_FROM: "2024-02-30x" }, /^RECOVER_FROM .* is not a day such as 2024-01-31, or none$/],
  [{ HEALTH_MAX_AGE: "soon" }, /"soon" is not a duration such as 90m, 3h or 2d$/],
  [{ HEALTH_MAX_LTV: "80%" }, /"80%" is not a ratio such as 0.8$/],
  [{ SYNC_LTV: "maybe" }, /^SYNC_LTV "maybe" is not true or false$/],
  [{ RISK_UNIT_IDS: "12,1 3" }, /^RISK_UNIT_IDS "1 3" is not a risk unit's ID: 1 to 64 letters/],
  [{ LOG_LEVEL: "wran" }, /^LOG_LEVEL "wran" is not one of fatal,.*, did you mean warn\?$/],
  [{ EXCHANGE_API_KEY: "schlüssel" }, /^EXCHANGE_API_KEY holds a character that no header can/],
  [{ EXCHANGE_BASEURL: "x" }, /^EXCHANGE_BASEURL is not .*, did you mean EXCHANGE_BASE_URL\?$/],
])("%j is refused, with the remedy", (environment, expected) => {
  const [fault, ...others] = faultsOf({ ...credentials, ...environment });
  expect(fault).toMatch(expected);
  expect(others).toEqual([]);
});

test.each([
  "postgres://user:hunter2@Pass/word@db.example.com:5432/ledger",
  "postgres://user:hunter2@Pass@db.example.com/ledger",
  "postgres://user:hunter2/Pass@db.example.com/ledger",
  "postgres://user:1/Pass@db.example.com/ledger",
  "postgres://user:hunter2@Pass?word@db.example.com/ledger",
  "postgres://user:hunter2@Pass#word@db.example.com/ledger",
  "postgres://user:hunter2@Pass/word=1@db.example.com/ledger?sslmode=disable",
])(
  "an address whose password has a bare @, / or ? is refused, and no piece of it is told: %s",
  (DATABASE_URL) => {
    const message = refusal(() => readConfig({ DATABASE_URL }, { credentials: false }));
    expect(message).toMatch(/DATABASE_URL is not an address; .* as %40, %23, %2F or %3F/);
    expect(message).not.toMatch(/hunter2|Pass|word=|word@/);
  },
);

test("an address in quotes that docker kept is told so, and is no address of an embedded database either", () => {
  const quoted = { DATABASE_URL: "'postgres://u:p@h/n'" };
  expect(refusal(() => readConfig(quoted, { credentials: false }))).toMatch(
    /DATABASE_URL has quotes around its value/,
  );
});

test("all faults are told in one message, and where to set what they name", () => {
  const names = ["DATABASE_URL", "PRODUCT_TYPES", "LOG_LEVEL", "EXCHANGE_BASE_URL"];
  const environment = Object.fromEntries(
    [...names, "EXCHANGE_API_PASPHRASE"].map((name) => [name, "x"]),
  );
  const told = faultsOf(environment).map((fault) => fault.split(" ")[0]);
  expect(told).toEqual([...names, "EXCHANGE_API_PASPHRASE", ...Object.keys(credentials)]);
  expect(refusal(() => readConfig(environment, { credentials: true }))).toContain(".env.example");
});

test("--account and --product narrow what is configured, and name nothing twice", () => {
  const config = readConfig(
    { ...credentials, PRODUCT_TYPES: "USDT-FUTURES,COIN-FUTURES,USDC-FUTURES" },
    { credentials: true },
  );
  const narrow = (options: Parameters<typeof selectionOf>[0]) =>
    selectedAccounts(config, selectionOf(options)).map(({ productTypes }) =>
      productTypes.join(" "),
    );
  expect(narrow({})).toEqual(["USDT-FUTURES COIN-FUTURES USDC-FUTURES"]);
  expect(narrow({ account: ["main"], product: ["COIN-FUTURES"] })).toEqual(["COIN-FUTURES"]);
  expect(narrow({ product: ["USDC-FUTURES,USDT-FUTURES", "USDT-FUTURES"] })).toEqual([
    "USDT-FUTURES USDC-FUTURES",
  ]);
  for (const [options, message] of [
    [{ account: ["mian"] }, "there is no account mian, did you mean main? (known: main)"],
    [{ product: ["USDT-FUTURE"] }, "is not a product type, did you mean USDT-FUTURES?"],
    [{ product: ["SCOIN-FUTURES"] }, "--product SCOIN-FUTURES is not configured: PRODUCT_TYPES or"],
  ] as const)
    expect(refusal(() => narrow(options))).toContain(message);
});

test.each<[string, string, Environment?]>([
  ["postgres://u:p@db.example.com/n", "?sslmode=verify-full"],
  ["postgresql://10.0.0.7:5433", "?sslmode=verify-full"],
  ["postgres://127.0.0.1.example.com/n", "?sslmode=verify-full"],
  ["postgres://u:p@localhost,db.example.com/n", "?sslmode=verify-full"],
  ["postgres://h/n?sslmode=", "&sslmode=verify-full"],
  ["postgres://h/n?uselibpqcompat=false", "&sslmode=verify-full"],
  ["postgres://localhost/n?host=db.example.com", "&sslmode=verify-full"],
  ...["localhost", "LOCALHOST:5433", "127.0.0.1", "127.9.8.7:1", "[::1]:5433", ""].map(
    (host): [string, string] => [`postgres://${host}/n`, ""],
  ),
  ["postgres://u:p@%2Fvar%2Frun%2Fpostgresql/n", ""],
  ["postgres:///n?host=/var/run/postgresql", ""],
  ["postgres://h/n?sslmode=disable", ""],
  ["postgres://h/n?uselibpqcompat=true", ""],
  ["postgres://h/n?ssl=true", ""],
  ["postgres://h/n?sslrootcert=ca.pem", ""],
  // What the driver's own variables say counts.
  ["postgres://h/n", "?sslmode=disable", { PGSSLMODE: "disable" }],
  ["postgres://h/n?sslmode=require", "", { PGSSLMODE: "disable" }],
  ["postgres:///n", "?sslmode=verify-full", { PGHOST: "db.example.com" }],
  ["postgres:///n", "", { PGHOST: "/var/run/postgresql" }],
])(
  "TLS is verified where the database is on another machine and nothing is said of it: %s",
  (url, added, others = {}) => {
    const urlOf = (DATABASE_URL: string) => {
      const asked = { DATABASE_URL, ...others };
      const where = readConfig(asked, { credentials: false }).database;
      return "url" in where ? where.url.reveal() : undefined;
    };
    expect(urlOf(url)).toBe(`${url}${added}`);
    // What stands behind a # is no part of the address.
    if (added !== "") expect(urlOf(`${url}#x`)).toBe(`${url}${added}`);
  },
);
