import type { z } from "zod";
import type { ExchangeError } from "../../lib/errors.ts";
import type { EpochMs } from "../../lib/time.ts";
import { contracts, readContract } from "../contract/contracts.ts";
import { type RowFault, sortedJson } from "../contract/json.ts";
import type { Operation, Query } from "../contract/operation.ts";
import type { ContractProductType } from "../contract/product-types.ts";
import { readSymbol, symbolOf, symbols } from "../contract/symbols.ts";
import type { Client } from "../exchange/client.ts";
import type { Database } from "../postgres/connect.ts";
import {
  commitContracts,
  commitSymbols,
  type SettingsList,
  type SymbolCounts,
} from "../store/reference/stored-symbols.ts";

// Spot pairs and futures contracts are both public lists of settings by symbol, which are read as a whole.

type ListDeps = {
  readonly db: Database;
  readonly client: Client;
  readonly signal: AbortSignal;
  /** Called with every failed request for a list. */
  readonly onFailure: (list: string, failure: ExchangeError) => void;
};

/** The lists to sync. */
export type WantedLists = {
  readonly spotPairs: boolean;
  /** The product types whose contracts are. */
  readonly contractsOf: readonly ContractProductType[];
};

/** A row of a list that broke the contract, named by its symbol or its place in the list. */
type BrokenRow = { readonly name: string; readonly fault: RowFault };

/** The result of syncing a list. */
export type ListReport = {
  readonly name: string;
  readonly requests: number;
  /** Of the list that was read; undefined where none was. */
  readonly counts:
    | (SymbolCounts & { readonly readAt: EpochMs; readonly entries: number })
    | undefined;
  /** Rows that were left out. */
  readonly broken: readonly BrokenRow[];
  readonly error: unknown;
};

type SymbolRow = { readonly symbol: string };
type ReadRow<Settings> = (
  row: unknown,
) => { readonly values: Settings } | { readonly fault: RowFault };
type ListOperation = Operation & { readonly data: z.ZodType<unknown[]> };

/** Syncs lists with one request each. Never throws: failures are in the reports. */
export const syncLists = (
  deps: ListDeps,
  { spotPairs, contractsOf }: WantedLists,
): Promise<readonly ListReport[]> =>
  Promise.all([
    ...(spotPairs
      ? [
          syncList(deps, "spot pairs", { operation: symbols, query: {} }, readSymbol, (list) =>
            commitSymbols(deps.db, list),
          ),
        ]
      : []),
    ...contractsOf.map((productType) => {
      const asked = { operation: contracts, query: { productType } };
      return syncList(deps, `contracts of ${productType}`, asked, readContract, (list) =>
        commitContracts(deps.db, { ...list, productType }),
      );
    }),
  ]);

async function syncList<Settings extends SymbolRow>(
  { client, signal, onFailure }: ListDeps,
  name: string,
  { operation, query }: { readonly operation: ListOperation; readonly query: Query },
  readRow: ReadRow<Settings>,
  commit: (list: SettingsList<Settings>) => Promise<SymbolCounts>,
): Promise<ListReport> {
  let requests = 0;
  let broken: readonly BrokenRow[] = [];
  const onAttempt = (failure: ExchangeError | undefined): void => {
    requests += 1;
    if (failure !== undefined) onFailure(name, failure);
  };
  try {
    const { data, requestTime } = await client.ask(operation, query, { signal, onAttempt });
    const reading = readList(data, readRow);
    broken = reading.broken;
    const written = await commit({ readAt: requestTime, ...reading.list });
    const counts = { ...written, readAt: requestTime, entries: reading.list.settings.length };
    return { name, requests, counts, broken, error: undefined };
  } catch (error) {
    return { name, requests, counts: undefined, broken, error };
  }
}

/** Sorts a list's rows into those that can be stored and those that cannot. */
export function readList<Settings extends SymbolRow>(
  rows: readonly unknown[],
  readRow: ReadRow<Settings>,
): {
  readonly list: Omit<SettingsList<Settings>, "readAt">;
  readonly broken: readonly BrokenRow[];
} {
  const good = new Map<string, Settings>();
  const broken: BrokenRow[] = [];
  const unread = new Set<string>();
  let isWhole = true;
  for (const [index, row] of rows.entries()) {
    const reading = readRow(row);
    if ("values" in reading) {
      const settings = reading.values;
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
  // If a symbol is served twice with different settings, nobody can say which row is right.
  const settings = [...good.values()].filter(({ symbol }) => !unread.has(symbol));
  return { list: { settings, unread: [...unread], isWhole }, broken };
}

const servedTwice: RowFault = {
  path: "symbol",
  reason: "is served twice, with different settings",
};
