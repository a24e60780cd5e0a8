import { financialRecords } from "../../src/contract/financial-records.ts";
import { parseExactJson } from "../../src/contract/json.ts";
import type { Query } from "../../src/contract/operation.ts";

/** A record of a unified account's ledger, reduced to its place in it. */
export type PlacedRecord = { readonly id: bigint; readonly ts: number };

/** What is not known of the financial records: the exchange may have any of these. */
export type RecordQuirks = {
  /** Which of startTime and endTime include their own millisecond. */
  readonly bounds: "both" | "start" | "end" | "neither";
  /** What decides which rows are on a page. */
  readonly sortedBy: "time" | "id";
  /** Whether a page begins with lower ids than the cursor, or after the cursor's row. */
  readonly cursorBy: "id" | "place";
  readonly includesCursor: boolean;
  readonly cursorKind: "string" | "number";
  readonly rowOrder: "newest-first" | "oldest-first" | "shuffled";
  /** Whether the oldest rows come on the first page. */
  readonly isAscending: boolean;
  readonly hasShortPages: boolean;
  /** The form of the page after the last one. */
  readonly end:
    | "empty list"
    | "null list"
    | "empty cursor"
    | "no list"
    | "nothing"
    | "the same cursor";
};

/**
 * An exchange with these rows in one category.
 * @returns the answer to a query, passed through its JSON.
 */
export function unifiedExchange(
  records: readonly PlacedRecord[],
  quirks: RecordQuirks,
  random: () => number,
) {
  const falling = records.toSorted((a, b) => -order(a, b, quirks.sortedBy));
  return (query: Query) => {
    const { category, limit, cursor } = query;
    const found = behind(
      quirks.isAscending ? falling.toReversed() : falling,
      quirks,
      cursor === undefined ? undefined : BigInt(cursor),
    ).filter(({ ts }) => isWithin(ts, query, quirks));
    const most = Number(limit);
    const size = quirks.hasShortPages ? Math.ceil(most * (1 - random() * 0.75)) : most;
    const page = found.slice(0, size);
    const last = page.at(-1);
    const data =
      last === undefined
        ? endOf(quirks, cursor)
        : { list: listOf(page, quirks, random, category), cursor: told(last, quirks) };
    const json = JSON.stringify(data).replaceAll(/"#(\d+)"/g, "$1");
    return financialRecords.data.parse(parseExactJson(json));
  };
}

const order = (a: PlacedRecord, b: PlacedRecord, by: "time" | "id"): number => {
  const byId = a.id < b.id ? -1 : Number(a.id > b.id);
  return by === "id" ? byId : a.ts - b.ts || byId;
};

function behind(
  rows: readonly PlacedRecord[],
  { cursorBy, includesCursor, isAscending }: RecordQuirks,
  cursor: bigint | undefined,
): readonly PlacedRecord[] {
  if (cursor === undefined) return rows;
  const place = rows.findIndex(({ id }) => id === cursor);
  if (cursorBy === "place") {
    return place === -1 ? [] : rows.slice(includesCursor ? place : place + 1);
  }
  return rows.filter(
    ({ id }) => (isAscending ? id > cursor : id < cursor) || (includesCursor && id === cursor),
  );
}

function isWithin(ts: number, { startTime, endTime }: Query, { bounds }: RecordQuirks): boolean {
  const [from, to] = [Number(startTime), Number(endTime)];
  const isPastStart = bounds === "both" || bounds === "start" ? ts >= from : ts > from;
  return isPastStart && (bounds === "both" || bounds === "end" ? ts <= to : ts < to);
}

function inOrder(
  page: readonly PlacedRecord[],
  { rowOrder }: RecordQuirks,
  random: () => number,
): readonly PlacedRecord[] {
  const newestFirst = page.toSorted((a, b) => -order(a, b, "time"));
  switch (rowOrder) {
    case "newest-first":
      return newestFirst;
    case "oldest-first":
      return newestFirst.toReversed();
    case "shuffled":
      return newestFirst
        .map((row) => ({ row, at: random() }))
        .toSorted((a, b) => a.at - b.at)
        .map(({ row }) => row);
    default:
      return rowOrder satisfies never;
  }
}

// A # marks what is a number in the answer.
const told = ({ id }: PlacedRecord, { cursorKind }: RecordQuirks): string =>
  cursorKind === "number" ? `#${id}` : String(id);

function endOf({ end }: RecordQuirks, cursor: string | undefined): object {
  switch (end) {
    case "empty list":
      return { list: [], cursor: null };
    case "null list":
      return { list: null, cursor: null };
    case "empty cursor":
      return { list: [], cursor: "" };
    case "no list":
      return { cursor: null };
    case "nothing":
      return {};
    case "the same cursor":
      return { list: [], cursor: cursor ?? null };
    default:
      return end satisfies never;
  }
}

const listOf = (
  page: readonly PlacedRecord[],
  quirks: RecordQuirks,
  random: () => number,
  category: string | undefined,
): readonly object[] => inOrder(page, quirks, random).map(rowOf(category));

const rowOf =
  (category: string | undefined) =>
  ({ id, ts }: PlacedRecord): object => ({
    category,
    id: String(id),
    symbol: "",
    coin: "USDT",
    type: "TRANSFER_IN",
    amount: "1",
    fee: "0",
    balance: "1",
    ts: String(ts),
  });
