import { createHash } from "node:crypto";
import { UsageError } from "../../lib/errors.ts";

/** A coin's price on a day. */
export type Price = {
  /** 2026-10-31 */
  readonly day: string;
  readonly coin: string;
  readonly price: string;
};

/** The prices of coins in one currency. */
export type Prices = {
  readonly currency: string;
  /** The file's name, and the SHA-256 of its text in hexadecimal. */
  readonly file: string;
  readonly sha256: string;
  /** By day, oldest first. */
  readonly all: readonly Price[];
  /** The newest price of a coin on that day or before; undefined if there is none. */
  readonly of: (coin: string, day: string) => Price | undefined;
};

const header = ["date", "coin", "price", "currency"];

/**
 * Reads a CSV file with the columns date, coin, price and currency, in any order.
 * @param file its name, for messages.
 * @param currency needed where the file has prices in several.
 * @throws UsageError that names the line and what to write.
 */
export function readPrices(text: string, file: string, currency?: string): Prices {
  const [first = "", ...rest] = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const titles = cellsOf(first.toLowerCase());
  const refuse = (line: number, why: string): never => {
    throw new UsageError(`${file}, line ${line}: ${why}`);
  };
  if (header.some((name) => !titles.includes(name)))
    refuse(1, `"${first}" is not the header: write ${header.join(",")}`);
  const seen = new Map<string, { readonly line: number; readonly price: string }>();
  const rows = rest.flatMap((row, index) => {
    if (row.trim() === "") return [];
    const line = index + 2;
    const cells = cellsOf(row);
    if (cells.length !== titles.length)
      refuse(line, `"${row}" has ${cells.length} fields: write ${titles.length}, with commas`);
    const [day, coin, price, unit] = header.map((name) => cells[titles.indexOf(name)] ?? "") as [
      string,
      string,
      string,
      string,
    ];
    if (!/^\d{4}-\d\d-\d\d$/.test(day) || !new Date(day).toJSON()?.startsWith(day))
      refuse(line, `"${day}" is not a date: write 2026-10-31`);
    if (coin === "") refuse(line, "the coin is missing: write a name such as BTC");
    if (!/^\d+(\.\d+)?$/.test(price) || /^[0.]+$/.test(price))
      refuse(
        line,
        `"${price}" is not a price: write digits with a point, above zero, such as 0.92`,
      );
    if (!/^[A-Za-z]+$/.test(unit))
      refuse(line, `"${unit}" is not a currency: write its letters, such as EUR`);
    const key = JSON.stringify([day, coin, unit]);
    const other = seen.get(key);
    if (other !== undefined && other.price !== price)
      refuse(line, `line ${other.line} has another price of ${coin} on ${day}: leave one out`);
    seen.set(key, { line, price });
    return other === undefined ? [{ day, coin, price, unit }] : [];
  });
  const units = [...new Set(rows.map(({ unit }) => unit))];
  const chosen = currency ?? (units.length === 1 ? units[0] : undefined);
  if (chosen === undefined || !units.includes(chosen))
    throw new UsageError(
      units.length === 0
        ? `${file} has no prices: write a line such as 2026-10-31,USDT,0.92,EUR`
        : `${file} has prices in ${units.join(", ")}: choose one by --currency`,
    );
  const all = rows
    .filter(({ unit }) => unit === chosen)
    .map(({ unit: _, ...row }): Price => row)
    .toSorted((a, b) => (a.day < b.day ? -1 : a.day > b.day ? 1 : 0));
  const byCoin = Map.groupBy(all, ({ coin }) => coin);
  return {
    ...{ currency: chosen, file, all },
    sha256: createHash("sha256").update(text).digest("hex"),
    of: (coin, day) =>
      coin === chosen
        ? { day, coin, price: "1" }
        : byCoin.get(coin)?.findLast((price) => price.day <= day),
  };
}

const cellsOf = (line: string): readonly string[] =>
  line.split(",").map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"));
