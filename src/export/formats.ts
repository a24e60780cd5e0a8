import type { Format } from "./exported-bill.ts";

/** The formats. Each module is loaded only when it is used. */
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

/** Whether the format cannot be shown on a terminal. */
export const isBinary = (name: FormatName): boolean => name === "parquet";

/** Whether the format has one transaction a bill, and asserts balances. */
export const isJournal = (name: FormatName): boolean => name === "hledger" || name === "beancount";

/** Whether a reader of the format would take a demo coin for money. */
export const isPriced = (name: FormatName): boolean => isJournal(name) || name === "koinly";

/** Whether the format shows by how much a bill moves its wallet, as `reconcile` has learned it. */
export const showsWallets = (name: FormatName): boolean => isPriced(name) || name === "ccxt";
