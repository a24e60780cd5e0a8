import type { Format } from "./exported-bill.ts";

/** Each is loaded when it is asked for. */
const formats = {
  csv: async () => (await import("./csv.ts")).toCsv,
  parquet: async () => (await import("./parquet.ts")).toParquet,
  hledger: async () => (await import("./hledger.ts")).toHledger,
  beancount: async () => (await import("./beancount.ts")).toBeancount,
  ccxt: async () => (await import("./ccxt.ts")).toCcxt,
  koinly: async () => (await import("./koinly.ts")).toKoinly,
} satisfies Record<string, () => Promise<Format>>;

export type FormatName = keyof typeof formats;

export const formatNames = Object.keys(formats) as readonly FormatName[];

export const loadFormat = (name: FormatName): Promise<Format> => formats[name]();

/** What no terminal can show. */
export const isBinary = (name: FormatName): boolean => name === "parquet";

/** What has a transaction a bill, and asserts balances. */
export const isJournal = (name: FormatName): boolean => name === "hledger" || name === "beancount";

/** Where a demo coin would be taken for money. */
export const isPriced = (name: FormatName): boolean => isJournal(name) || name === "koinly";

/** Whether it shows what a bill does to its wallet, as `reconcile` learned it. */
export const showsWallets = (name: FormatName): boolean => isPriced(name) || name === "ccxt";
