import type { Format } from "./exported-bill.ts";

/** A format of `export`. */
type FormatEntry = {
  /** Loads its writer, when it is asked for. */
  readonly load: () => Promise<Format>;
  /** Its line in `export --help`. */
  readonly about: string;
  /** Whether no terminal can show it. Default false. */
  readonly isBinary?: true;
  /** Whether it has a transaction a bill, and asserts balances. Default false. */
  readonly isJournal?: true;
  /** Whether it books what a bill does to its wallet, as `reconcile` learned it. Default false. */
  readonly isBooked?: true;
};

/**
 * The formats of `export`, in the order of its help. A new one needs a file that exports a {@link Format}, a row
 * here, and a line in docs/accounting.md.
 */
const formats = {
  csv: {
    load: async () => (await import("./csv.ts")).toCsv,
    about: "RFC 4180, the columns of the table bills and the category, as text",
  },
  parquet: {
    load: async () => (await import("./parquet.ts")).toParquet,
    about: "the same, with DECIMAL(38, 18) and UTC milliseconds",
    isBinary: true,
  },
  xlsx: {
    load: async () => (await import("./xlsx.ts")).toXlsx,
    about: "a workbook with a sheet a wallet: ids as text, times as dates",
    isBinary: true,
  },
  hledger: {
    load: async () => (await import("./hledger.ts")).toHledger,
    about: "a journal, one transaction a bill, a balance assertion a day",
    isJournal: true,
    isBooked: true,
  },
  beancount: {
    load: async () => (await import("./beancount.ts")).toBeancount,
    about: "the same",
    isJournal: true,
    isBooked: true,
  },
  koinly: {
    load: async () => (await import("./koinly.ts")).toKoinly,
    about: "Koinly's universal CSV",
    isBooked: true,
  },
} as const satisfies Record<string, FormatEntry>;

export type FormatName = keyof typeof formats;

export const formatNames = Object.keys(formats) as readonly FormatName[];

export const formatOf = (name: FormatName): FormatEntry => formats[name];
