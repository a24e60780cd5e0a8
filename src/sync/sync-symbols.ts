import type { RowFault } from "../contract/json.ts";
import { sortedJson } from "../contract/json.ts";
import { readSymbol, type SymbolSettings, symbolOf, symbols } from "../contract/symbols.ts";
import type { EpochMs } from "../contract/time.ts";
import { type ExchangeError, UnbelievableListError } from "../errors.ts";
import type { Client } from "../exchange/client.ts";
import type { CommitSymbols, SymbolCounts, SymbolList } from "./store.ts";

export type SymbolsDeps = {
  readonly client: Client;
  readonly commitSymbols: CommitSymbols;
  readonly signal: AbortSignal;
  /** Told of every request that failed. */
  readonly onFailure: (failure: ExchangeError) => void;
};

/** A row of the list that broke the contract, by the pair's name or its place in the list. */
export type BrokenRow = { readonly name: string; readonly fault: RowFault };

/** What came of the pairs in one run. */
export type SymbolsReport = {
  readonly requests: number;
  /** What was taken in; undefined where nothing was. */
  readonly stored:
    | (SymbolCounts & { readonly readAt: EpochMs; readonly pairs: number })
    | undefined;
  /** Rows that were left out. */
  readonly broken: readonly BrokenRow[];
  readonly error: unknown;
};

/** Brings the settings of all spot pairs up to now. Never throws: what failed is in the report. */
export async function syncSymbols(deps: SymbolsDeps): Promise<SymbolsReport> {
  let requests = 0;
  let broken: readonly BrokenRow[] = [];
  try {
    const { data, requestTime } = await deps.client.ask(
      symbols,
      {},
      {
        signal: deps.signal,
        onAttempt: (failure) => {
          requests += 1;
          if (failure !== undefined) deps.onFailure(failure);
        },
      },
    );
    const reading = readSymbolList(data);
    broken = reading.broken;
    const counts = await deps.commitSymbols({ readAt: requestTime, ...reading.list });
    const stored = { ...counts, readAt: requestTime, pairs: reading.list.settings.length };
    return { requests, stored, broken, error: undefined };
  } catch (error) {
    return { requests, stored: undefined, broken, error };
  }
}

/** Sorts a list's rows into those that can be stored and those that cannot. */
export function readSymbolList(rows: readonly unknown[]): {
  readonly list: Omit<SymbolList, "readAt">;
  readonly broken: readonly BrokenRow[];
} {
  const good = new Map<string, SymbolSettings>();
  const broken: BrokenRow[] = [];
  const unread = new Set<string>();
  let isWhole = true;
  for (const [index, row] of rows.entries()) {
    const reading = readSymbol(row);
    if ("settings" in reading) {
      const { settings } = reading;
      const other = good.get(settings.symbol);
      if (other === undefined || sortedJson(other) === sortedJson(settings)) {
        good.set(settings.symbol, settings);
        continue;
      }
      broken.push({ name: settings.symbol, fault: servedTwice });
      unread.add(settings.symbol);
    } else {
      const name = symbolOf(row);
      broken.push({ name: name ?? `row ${index + 1}`, fault: reading.fault });
      if (name === undefined) isWhole = false;
      else unread.add(name);
    }
  }
  // Of a pair that is served twice nobody can say which row is true.
  const settings = [...good.values()].filter(({ symbol }) => !unread.has(symbol));
  return { list: { settings, unread: [...unread], isWhole }, broken };
}

const servedTwice: RowFault = {
  path: "symbol",
  reason: "is served twice, with different settings",
};

/**
 * Refuses a list that cannot be all pairs: taken at its word, it would mark the others as gone.
 * @param known pairs that are stored and not gone.
 * @throws UnbelievableListError
 */
export function refuseShortList({ settings, unread }: SymbolList, known: number): void {
  const listed = settings.length + unread.length;
  if (listed > 0 && listed >= known / 2) return;
  throw new UnbelievableListError(
    `the exchange listed ${listed} pairs, and ${known} are known: nothing was changed; sync again, ` +
      "and if the list stays so short, see the exchange's announcements",
  );
}
