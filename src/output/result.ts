import type { Interval } from "../core/words/intervals.ts";
import type { Ledger } from "../core/words/ledger.ts";
import { messageOf } from "../lib/errors.ts";
import { printableLine } from "../lib/printable.ts";
import { type EpochMs, epochMs } from "../lib/time.ts";
import {
  formatCount,
  formatDuration,
  formatLength,
  formatMinute,
  formatTable,
  jsonInstant,
  jsonInterval,
  jsonTime,
  ledgerName,
  type NamedLedger,
} from "./text.ts";

// The result of a command: text and JSON are made of it, and of nothing else.

type Kinds = {
  text: string;
  /** A decimal, which never passes through a number. */
  amount: string;
  /** A decimal, and its digits for people, which may be rounded. */
  money: { readonly exact: string; readonly shown: string };
  count: number;
  time: EpochMs;
  /** A time in ISO 8601. */
  instant: string;
  /** Milliseconds. */
  length: number;
  spans: readonly Interval[];
  /** For programs only, as it is. */
  value: unknown;
};

const asItIs = (value: unknown): unknown => value;
/** How a value of each kind is shown to people, and to programs. */
const kinds: {
  readonly [Kind in keyof Kinds]: {
    readonly text: (value: Kinds[Kind]) => string;
    readonly json: (value: Kinds[Kind]) => unknown;
    readonly isRight?: true;
  };
} = {
  text: { text: String, json: asItIs },
  amount: { text: String, json: asItIs, isRight: true },
  money: { text: ({ shown }) => shown, json: ({ exact }) => exact, isRight: true },
  count: { text: formatCount, json: asItIs, isRight: true },
  time: { text: formatMinute, json: jsonTime, isRight: true },
  instant: {
    text: (iso) => formatMinute(epochMs(Date.parse(iso))),
    json: jsonInstant,
    isRight: true,
  },
  length: { text: formatDuration, json: asItIs, isRight: true },
  spans: { text: formatLength, json: (spans) => spans.map(jsonInterval), isRight: true },
  value: { text: String, json: asItIs },
};

type ColumnOf<Row, Kind extends keyof Kinds> = {
  readonly kind: Kind;
  /** A value that is null or undefined is a dash for people, and null for programs. */
  readonly of: (row: Row) => Kinds[Kind] | null | undefined;
  /** As people read it. Default the key in words; empty if it is for programs only. */
  readonly title?: string;
  readonly isForPeople?: true;
};
export type Column<Row> = { [Kind in keyof Kinds]: ColumnOf<Row, Kind> }[keyof Kinds];
export type Columns<Row> = Readonly<Record<string, Column<Row>>>;

/** Columns of a row's fields, under their own names. */
export const fields = <Row>(
  kind: keyof Kinds,
  keys: readonly (keyof Row & string)[],
  title?: "",
): Columns<Row> =>
  Object.fromEntries(
    keys.map((key) => [
      key,
      { kind, of: (row: Row) => row[key], ...(title !== undefined && { title }) } as Column<Row>,
    ]),
  );

/** The message of a row's error, for programs. */
export const errorColumn: Column<{ readonly error?: unknown }> = {
  kind: "text",
  title: "",
  of: ({ error }) => (error === undefined ? undefined : messageOf(error)),
};

/** Rows with the same columns. One without a name is for people only. */
export type Table = {
  readonly name: string;
  readonly titles: readonly string[];
  readonly cells: readonly (readonly string[])[];
  /** Which columns are flush right: figures. */
  readonly isRight: readonly boolean[];
  /** The keys of each of `json`, and what their values are. */
  readonly kinds: Readonly<Record<string, keyof Kinds>>;
  readonly json: readonly object[];
  /** Whether it is one thing, which is an object or null for programs, and no list. */
  readonly isRecord?: true;
};

const rendered = <Row>(column: Column<Row>, row: Row, to: "text" | "json"): unknown => {
  const value = column.of(row) ?? undefined;
  if (value === undefined) return to === "text" ? "-" : null;
  return (kinds[column.kind][to] as (value: unknown) => unknown)(value);
};

const isShown = ({ kind, title }: { readonly kind: keyof Kinds; readonly title?: string }) =>
  kind !== "value" && title !== "";

/** @param people the rows for people. Default the same; perhaps some of them, or with a sum below. */
export function table<Row>(
  name: string,
  columns: Columns<Row>,
  rows: readonly Row[],
  people: readonly Row[] = rows,
): Table {
  const shown = Object.entries(columns).filter(([, column]) => isShown(column));
  const forPrograms = Object.entries(columns).filter(([, { isForPeople }]) => !isForPeople);
  return {
    name,
    titles: shown.map(([key, { title = titleOf(key) }]) => title),
    cells: people.map((row) => shown.map(([, column]) => String(rendered(column, row, "text")))),
    isRight: shown.map(([, { kind }]) => kinds[kind].isRight === true),
    kinds: Object.fromEntries(forPrograms.map(([key, { kind }]) => [key, kind])),
    json: rows.map((row) =>
      Object.fromEntries(forPrograms.map(([key, column]) => [key, rendered(column, row, "json")])),
    ),
  };
}

/** One thing, or none. */
export const record = <Row>(name: string, columns: Columns<Row>, row: Row | undefined): Table => ({
  ...table(name, columns, row === undefined ? [] : [row]),
  isRecord: true,
});

/** A table for people; empty where it has no rows. */
export const tableText = ({ titles, cells, isRight }: Table): string =>
  cells.length === 0 || titles.length === 0 ? "" : formatTable(titles, cells, isRight);

/** "readThrough": "read through" */
const titleOf = (key: string): string =>
  key.replaceAll(/[A-Z]/g, (capital) => ` ${capital.toLowerCase()}`);

/** A row's ledger, or wallet: its account and product type for programs, its name for people. */
export const ledgerColumn = <Row>(
  ledgerOf: (row: Row) => NamedLedger,
  title = "ledger",
): Columns<Row> => ({
  account: { kind: "text", title: "", of: (row) => ledgerOf(row).account },
  productType: { kind: "text", title: "", of: (row) => ledgerOf(row).productType },
  ledger: { kind: "text", title, isForPeople: true, of: (row) => ledgerName(ledgerOf(row)) },
});

/** The same of rows of which all may have the same account: it is then named in the title only. */
export function ledgerColumns<Row>(
  rows: readonly Row[],
  ledgerOf: (row: Row) => Ledger,
  /** The account of a row that is the sum of all. */
  sumName?: string,
): Columns<Row> {
  const [account, ...others] = new Set(rows.map((row) => ledgerOf(row).account));
  const isOne = account !== undefined && others.length === 0;
  const nameOf = (ledger: Ledger) =>
    isOne ? printableLine(ledger.productType) : ledgerName(ledger);
  return {
    ...ledgerColumn(ledgerOf),
    ledger: {
      kind: "text",
      title: isOne ? printableLine(account) : "account/product type",
      isForPeople: true,
      of: (row) => (ledgerOf(row).account === sumName ? sumName : nameOf(ledgerOf(row))),
    },
  };
}

/** What a command returns, whoever called it. */
export type Result = {
  /** For programs, beside the tables that have names. */
  readonly data: object;
  /** For people, in this order: tables, and lines between them. What is false or undefined is left out. */
  readonly parts: readonly (Table | string | false | undefined)[];
  /** 0 done and complete · 1 not complete · 2 wrong usage or configuration · 3 another run holds the account */
  readonly exit: 0 | 1 | 2 | 3;
  /** Whether the text only sums up work that is done: then nothing fails where it cannot be written. */
  readonly isSummary?: true;
  /** Whether people have asked for what programs get. */
  readonly isJson?: boolean;
  /** What goes on until the user stops it: a server. */
  readonly running?: AsyncDisposable;
};

/** The result of a command that has done what it was asked for. */
export const done = (...parts: Result["parts"]): Result => ({ data: {}, parts, exit: 0 });

/** Tables stand apart from lines. Those without rows are left out. */
export const asText = ({ parts }: Pick<Result, "parts">): string =>
  parts
    .map((part) => (typeof part === "string" ? part : { text: part ? tableText(part) : "" }))
    .filter((part) => typeof part === "string" || part.text !== "")
    .map((part, place, all) => {
      if (typeof part === "string") return part;
      const before = place === 0 || all[place - 1] === "" ? "" : "\n";
      const next = all[place + 1];
      return `${before}${part.text}${typeof next === "string" && next !== "" ? "\n" : ""}`;
    })
    .join("\n");

export const asJson = ({ data, parts }: Pick<Result, "data" | "parts">): object => ({
  ...data,
  ...Object.fromEntries(
    parts.flatMap((part) =>
      typeof part !== "object" || part.name === ""
        ? []
        : [[part.name, part.isRecord ? (part.json[0] ?? null) : part.json]],
    ),
  ),
});
