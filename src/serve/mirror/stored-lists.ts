import type { z } from "zod";
import { contractFields, contracts } from "../../contract/contracts.ts";
import { parseExactJson } from "../../contract/json.ts";
import { symbolFields, symbols } from "../../contract/symbols.ts";
import { isoTime } from "../../contract/time.ts";
import type { Queryable } from "../../db/connect.ts";
import {
  type ListedRow,
  type ListedRows,
  readContracts,
  readPairs,
} from "../../db/reference/stored-symbols.ts";
import { readQuery } from "../../exchange-server/read-query.ts";
import { Refusal } from "../../exchange-server/source.ts";
import type { Query } from "./access.ts";
import type { Served } from "./bill-pages.ts";

/** Get Symbol Info: the spot pairs, as they were last read. */
export async function serveSymbols(tx: Queryable, query: Query): Promise<Served> {
  const asked = readQuery(symbols.query, query);
  if (asked instanceof Refusal) return { data: asked };
  const symbol = asked.symbol?.trim() || undefined;
  return listed(await readPairs(tx, symbol), symbolFields, symbol);
}

/** The contracts of a product type. Clients need them to interpret a bill's symbol. */
export async function serveContracts(tx: Queryable, query: Query): Promise<Served> {
  const asked = readQuery(contracts.query, query);
  if (asked instanceof Refusal) return { data: asked };
  const symbol = asked.symbol?.trim() || undefined;
  return listed(await readContracts(tx, asked.productType, symbol), contractFields, symbol);
}

/** A list that was never read is empty: clients then know fewer names, but no wrong ones. */
function listed(
  { readAt, rows }: ListedRows,
  fields: Readonly<Record<string, z.ZodType>>,
  symbol: string | undefined,
): Served {
  const headers = readAt === undefined ? {} : { "x-read-at": isoTime(readAt) };
  if (symbol !== undefined && rows.length === 0)
    return { data: new Refusal(400, "40034", `Parameter ${symbol} does not exist`), headers };
  return { data: rows.map((row) => wireRow(row, Object.keys(fields))), headers };
}

const wireRow = ({ extra = null, ...row }: ListedRow, names: readonly string[]): object => ({
  ...Object.fromEntries(names.map((name) => [name, wireValue(name, row[name] ?? null)])),
  ...(extra === null ? {} : (parseExactJson(extra) as object)),
});

/** All fields are text, except one list. */
const wireValue = (name: string, value: string | null): unknown =>
  name === "supportMarginCoins" ? JSON.parse(value ?? "[]") : (value ?? "");
