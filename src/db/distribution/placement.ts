import type { tables } from "../schema/tables.ts";

/**
 * Where a table's rows lie once the database is distributed: by their account, a copy on every node, or
 * on the coordinator alone.
 */
export type Placement = "account" | "everywhere" | "coordinator";

/** One for every table of the schema. */
export const placements: Readonly<Record<keyof typeof tables, Placement>> = {
  // The first: the others lie beside it.
  bills: "account",
  billCounts: "account",
  billRevisions: "account",
  rejectedBills: "account",
  checkpoints: "account",
  streamStates: "account",
  streamTimes: "account",
  ledgerDays: "account",
  symbolDays: "account",
  checkDays: "account",
  dirtyDays: "account",
  walletRules: "account",
  walletTypeRules: "account",
  billOrder: "account",
  ledgerBreaks: "account",
  breakDecisions: "account",
  reconciledChains: "account",
  ltvSnapshots: "account",
  ltvDebts: "account",
  ltvCollateral: "account",
  // Joined to the bills of every account.
  businessTypes: "everywhere",
  // A process renews the leases of all its accounts by one statement: no node that hangs may hold it up.
  accountLeases: "coordinator",
  accountGuests: "coordinator",
  // A key is kept from two accounts, whichever they are.
  accountKeys: "coordinator",
  keySalt: "coordinator",
  // Read whole.
  addedAccounts: "coordinator",
  // Of no account.
  syncRuns: "coordinator",
  symbols: "coordinator",
  symbolVersions: "coordinator",
  contracts: "coordinator",
  contractVersions: "coordinator",
  symbolLists: "coordinator",
  analyticsViews: "coordinator",
};
