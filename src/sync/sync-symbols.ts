import { readSymbol, symbols } from "../contract/symbols.ts";
import { type ListDeps, type ListReport, readList, syncList } from "./settings-lists.ts";
import type { CommitSymbols } from "./store.ts";

export type SymbolsDeps = ListDeps & { readonly commitSymbols: CommitSymbols };

/** What came of the pairs in one run. */
export type SymbolsReport = ListReport;

/** Brings the settings of all spot pairs up to now. Never throws: what failed is in the report. */
export const syncSymbols = (deps: SymbolsDeps): Promise<SymbolsReport> =>
  syncList(deps, { operation: symbols, query: {} }, readSymbol, deps.commitSymbols);

/** Sorts a list's rows into those that can be stored and those that cannot. */
export const readSymbolList = (rows: readonly unknown[]) => readList(rows, readSymbol);
