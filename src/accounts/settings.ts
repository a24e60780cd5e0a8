import { z } from "zod";
import { type ProductType, productTypes } from "../core/contract/product-types.ts";
import { UsageError } from "../lib/errors.ts";
import { didYouMean } from "../lib/nearest.ts";
import { Secret } from "../lib/secret.ts";
import { dayMs, epochMs, hourMs, minuteMs } from "../lib/time.ts";
import { fitsHeader, headerFault } from "./credentials.ts";
import { proxyAddress } from "./proxy.ts";

/** Variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The form of an account's name: it is neither an option nor a folder to a program that takes it as an argument. */
export const accountName = {
  pattern: /^\w[\w.-]{0,63}$/,
  form: "1 to 64 letters, digits, dots, hyphens or underscores that begin with no dot or hyphen",
};

const riskUnitId = {
  pattern: /^[\w-]{1,64}$/,
  form: "1 to 64 letters, digits, hyphens or underscores",
};

const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

function productTypeFault(word: string): string {
  const meant = didYouMean(word, productTypes) || ` (there are ${productTypes.join(", ")})`;
  return `"${word}" is not a product type${meant}`;
}

/** A product type's name. */
export const productType = z.enum(productTypes, {
  error: ({ input }) => productTypeFault(String(input)),
});

/** @throws UsageError for a word that is no product type. */
export function productTypeOf(word: string): ProductType {
  const { data, error } = productType.safeParse(word);
  if (data !== undefined) return data;
  throw new UsageError(`--product ${error?.issues[0]?.message}`);
}

type Fault = { readonly error: (issue: { readonly input?: unknown }) => string };
const isNot = (form: string): Fault => ({
  error: ({ input }) => `"${String(input)}" is not ${form}`,
});
const matching = (pattern: RegExp, form: string) => z.string().regex(pattern, isNot(form));
const secret = z
  .string()
  .refine(fitsHeader, { error: headerFault })
  .transform((text) => new Secret(text))
  .optional();
const commaList = <Item extends z.ZodType<string, string>>(item: Item) =>
  z
    .string()
    .transform((text) => {
      const words = text.split(",").map((word) => word.trim());
      return [...new Set(words.filter((word) => word !== ""))];
    })
    .pipe(z.array(item));
const settleMinutesMax = 24 * 60;
const unitMs: Readonly<Record<string, number>> = { m: minuteMs, h: hourMs, d: dayMs };
export const duration = {
  pattern: /^\d{1,4}[mhd]$/,
  form: "a duration such as 90m, 3h or 2d",
  msOf: (text: string): number => Number(text.slice(0, -1)) * (unitMs[text.slice(-1)] ?? 0),
};

/**
 * Every variable of the program: its form, its default and its meaning. docs/reference.md lists
 * them. An error quotes no value that may be a secret.
 */
export const variables = z.object({
  EXCHANGE_API_KEY: secret.describe(
    "the account's key; [a right to read](operations.md#keys) is enough",
  ),
  EXCHANGE_API_SECRET: secret.describe("the key's secret"),
  EXCHANGE_API_PASSPHRASE: secret.describe("the key's passphrase"),
  ACCOUNT_NAME: matching(accountName.pattern, accountName.form)
    .prefault("main")
    .describe(
      "the account's name in tables and outputs, of your choice. Another account at the exchange needs another name",
    ),
  ACCOUNTS_FILE: z
    .string()
    .optional()
    .describe(
      "[several accounts](#several-accounts), in a file or a [directory](#many-accounts), instead of the four above",
    ),
  DATABASE_URL: z
    .string()
    .refine(isDatabaseUrl, {
      error:
        "is not an address; write postgres://USER:PASSWORD@HOST:5432/NAME, with an @, #, / or ? in the " +
        "password as %40, %23, %2F or %3F, or leave it out for the embedded Postgres",
    })
    .optional()
    .describe(
      "any Postgres from 14 on, UTF-8. Without it the [embedded Postgres](#the-embedded-postgres) is used",
    ),
  DATA_DIR: z.string().prefault("./data").describe("where the embedded Postgres keeps its data"),
  PRODUCT_TYPES: commaList(productType)
    .optional()
    .describe(
      "comma list: see [Product types](#product-types). Without it: all that the key can read",
    ),
  SYNC_LTV: matching(/^(true|1|yes|false|0|no)$/i, "true or false")
    .transform((text) => /^[t1y]/i.test(text))
    .prefault("false")
    .describe("whether the account's loan-to-value is read. Most accounts have no loan"),
  RISK_UNIT_IDS: commaList(matching(riskUnitId.pattern, `a risk unit's ID: ${riskUnitId.form}`))
    .prefault("")
    .describe(
      "comma list of a parent account's risk units. A risk unit's own account leaves it out",
    ),
  SYNC_SETTLE_MINUTES: z
    .string()
    .refine(
      (text) => /^\d{1,4}$/.test(text) && Number(text) <= settleMinutesMax,
      isNot(`a whole number of minutes from 0 to ${settleMinutesMax}`),
    )
    .transform(Number)
    .prefault("10")
    .describe(
      "how many of the newest minutes are stored but read again by the next run, for bills that appear late; " +
        `0 to ${settleMinutesMax}`,
    ),
  RECOVER_FROM: z
    .string()
    .refine((text) => text === "none" || isDay(text), isNot("a day such as 2024-01-31, or none"))
    .transform((text) => (text === "none" ? text : epochMs(Date.parse(text))))
    .optional()
    .describe(
      "how far back bills are recovered from tax records, once the last 90 days are read: a day, or `none`. " +
        "Without it: two years",
    ),
  HEALTH_MAX_AGE: matching(duration.pattern, duration.form)
    .transform(duration.msOf)
    .prefault("3h")
    .describe(
      "how far behind a ledger may be before `status`, the page and the metrics say so: a daily sync needs `26h`",
    ),
  HEALTH_MAX_LTV: matching(/^\d{1,3}(\.\d{1,6})?$/, "a ratio such as 0.8")
    .transform(Number)
    .prefault("0.8")
    .describe("a loan-to-value above this raises the finding `ltv-high`"),
  LOG_LEVEL: z
    .enum(logLevels, {
      error: ({ input }) =>
        `"${String(input)}" is not one of ${logLevels.join(", ")}${didYouMean(String(input), logLevels)}`,
    })
    .prefault("info")
    .describe(
      "level of the log on standard error: `fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`. " +
        "The log is NDJSON unless standard error is a terminal",
    ),
  EXCHANGE_BASE_URL: z
    .string()
    .transform((text, context) => {
      const url = URL.parse(text) ?? new URL("none:");
      // The text itself is not quoted: it may hold a password.
      const message = baseUrlFault(url);
      if (message !== undefined) context.issues.push({ code: "custom", message, input: undefined });
      return url;
    })
    .prefault("https://api.bitget.com")
    .describe("https, or http on this machine"),
  HTTPS_PROXY: z
    .string()
    .transform((text, context) => {
      const url = proxyAddress(text);
      const message = "is not the address of a proxy; write http://HOST:PORT";
      if (url === undefined) context.issues.push({ code: "custom", message, input: undefined });
      return url ?? new URL("none:");
    })
    .optional()
    .describe("the proxy through which the exchange is asked; also in small letters"),
  NO_PROXY: z.string().optional().describe("comma list of hosts that are reached without it"),
});

/** Date.parse takes the 30th of February for the 2nd of March. */
function isDay(text: string): boolean {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

/** The settings, by the names of the variables. */
export type Settings = { readonly [name in keyof typeof variables.shape]?: string | undefined };

export const variableNames = variables.keyof().options;

function baseUrlFault(url: URL): string | undefined {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return "is not a URL such as https://api.bitget.com";
  }
  if (url.href !== `${url.origin}/`) {
    return `has more than a scheme, a host and a port; write ${url.origin}`;
  }
  if (url.protocol === "https:" || isLoopback(url)) return undefined;
  return `would send the key in the clear to ${url.host}; use https, or http on 127.0.0.1 only`;
}

const isLoopback = ({ hostname }: URL): boolean =>
  hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);

/** Whether the driver reads it as it was meant. */
function isDatabaseUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !/^postgres(ql)?:\/\//.test(text)) return false;
  // A bare / ? or # in a password ends the address there, and of two @ each tool takes another for the end of the
  // password: a piece of it would be taken for the host, looked up and shown.
  const [authority = "", ...others] = text.replace(/^\w+:\/\//, "").split(/[/?#]/);
  if (authority.split("@").length > 2) return false;
  return url.hostname === "" || !others.join("").includes("@");
}

/** What the driver takes TLS's rules from; uselibpqcompat leaves all of them to libpq's words. */
const tlsWords = ["ssl", "sslmode", "sslcert", "sslkey", "sslrootcert"];

/**
 * The address with `sslmode=verify-full` where it says nothing of TLS and leads to another machine:
 * the driver would send the ledger in the clear.
 * @param variables what the driver takes from the environment.
 */
export function withTlsByDefault(
  text: string,
  variables: { readonly PGHOST: string | undefined; readonly PGSSLMODE: string | undefined },
): string {
  const { hostname, searchParams } = new URL(text);
  const isSaid =
    tlsWords.some((name) => searchParams.get(name)) ||
    searchParams.get("uselibpqcompat") === "true" ||
    searchParams.get("sslnegotiation") === "direct";
  const hosts = searchParams.get("host") || hostname || variables.PGHOST || "";
  if (isSaid || hosts.split(",").every(isThisMachine)) return text;
  const [address = ""] = text.split("#");
  const sslmode = encodeURIComponent(variables.PGSSLMODE ?? "verify-full");
  return `${address}${address.includes("?") ? "&" : "?"}sslmode=${sslmode}`;
}

/** A socket's folder begins with a slash, or %2F; no host at all is the driver's own, this machine. */
const isThisMachine = (host: string): boolean =>
  /^(?:|(?:\/|%2f).*|localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
