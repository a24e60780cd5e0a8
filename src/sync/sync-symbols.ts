import { readSymbol, symbols } from "../contract/symbols.ts";
import { type ListDeps, type ListReport, syncList } from "./settings-lists.ts";
import type { CommitSymbols } from "./store.ts";

export type SymbolsDeps = ListDeps & { readonly commitSymbols: CommitSymbols };

/** The result of syncing the spot pairs. */
export type SymbolsReport = ListReport;

/** Syncs the settings of all spot pairs. Never throws: a failure is in the report. */
export const syncSymbols = (deps: SymbolsDeps): Promise<SymbolsReport> =>
  syncList(deps, { operation: symbols, query: {} }, readSymbol, deps.commitSymbols);
