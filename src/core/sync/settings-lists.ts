import type { z } from "zod";
import type { ExchangeError } from "../../lib/errors.ts";
import type { EpochMs } from "../../lib/time.ts";
import { contracts, readContract } from "../contract/contracts.ts";
import type { RowFault } from "../contract/json.ts";
import { sortedJson } from "../contract/json.ts";
import type { Operation, Query } from "../contract/operation.ts";
import type { ContractProductType } from "../contract/product-types.ts";
import { readSymbol, symbolOf, symbols } from "../contract/symbols.ts";
import type { Client } from "../exchange/client.ts";
import type {
  ContractList,
  SettingsList,
  SymbolCounts,
  SymbolList,
} from "../store/reference/stored-symbols.ts";

// Spot pairs and futures contracts are both public lists of settings by symbol, which are read as a whole.

type ListDeps = {
  readonly client: Client;
  readonly signal: AbortSignal;
  /** Called with every failed request. */
  readonly onFailure: (failure: ExchangeError) => void;
};

/** A row of a list that broke the contract, named by its symbol or its place in the list. */
type BrokenRow = { readonly name: string; readonly fault: RowFault };

/** The result of syncing a list. */
export type ListReport = {
  readonly requests: number;
  /** Of the list that was read; undefined where none was. */
  readonly counts:
    | (SymbolCounts & { readonly readAt: EpochMs; readonly entries: number })
    | undefined;
  /** Rows that were left out. */
  readonly broken: readonly BrokenRow[];
  readonly error: unknown;
};

/** Stores a list. @throws ReportableError where it is too short to be complete. */
type Commit<List> = (list: List) => Promise<SymbolCounts>;

type SymbolRow = { readonly symbol: string };
type ReadRow<Settings> = (
  row: unknown,
) => { readonly values: Settings } | { readonly fault: RowFault };
type ListOperation = Operation & { readonly data: z.ZodType<unknown[]> };

/** Asks for a list and stores it. Never throws: a failure is in the report. */
async function syncList<Settings extends SymbolRow>(
  { client, signal, onFailure }: ListDeps,
  asked: { readonly operation: ListOperation; readonly query: Query },
  readRow: ReadRow<Settings>,
  commit: Commit<SettingsList<Settings>>,
): Promise<ListReport> {
  let requests = 0;
  let broken: readonly BrokenRow[] = [];
  const onAttempt = (failure: ExchangeError | undefined): void => {
    requests += 1;
    if (failure !== undefined) onFailure(failure);
  };
  try {
    const { operation, query } = asked;
    const { data, requestTime } = await client.ask(operation, query, { signal, onAttempt });
    const reading = readList(data, readRow);
    broken = reading.broken;
    const written = await commit({ readAt: requestTime, ...reading.list });
    const counts = { ...written, readAt: requestTime, entries: reading.list.settings.length };
    return { requests, counts, broken, error: undefined };
  } catch (error) {
    return { requests, counts: undefined, broken, error };
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

type SymbolsDeps = ListDeps & { readonly commitSymbols: Commit<SymbolList> };

/** The result of syncing the spot pairs. */
type SymbolsReport = ListReport;

/** Syncs the settings of all spot pairs. Never throws: a failure is in the report. */
export const syncSymbols = (deps: SymbolsDeps): Promise<SymbolsReport> =>
  syncList(deps, { operation: symbols, query: {} }, readSymbol, deps.commitSymbols);

type ContractsDeps = ListDeps & { readonly commitContracts: Commit<ContractList> };

/** The result of syncing one product type's contracts. */
type ContractsReport = ListReport & { readonly productType: ContractProductType };

/**
 * Syncs the settings of all contracts of these product types, with one request per product type. Never
 * throws: failures are in the reports.
 */
export const syncContracts = (
  { commitContracts, ...deps }: ContractsDeps,
  productTypes: readonly ContractProductType[],
): Promise<readonly ContractsReport[]> =>
  Promise.all(
    productTypes.map(async (productType) => ({
      productType,
      ...(await syncList(
        deps,
        { operation: contracts, query: { productType } },
        readContract,
        (list) => commitContracts({ ...list, productType }),
      )),
    })),
  );
