import { tables } from "../schema/tables.ts";

/**
 * Where a table's rows are once the database is distributed: on their account's node, copied to every
 * node, or on the coordinator alone.
 */
export type Placement = "account" | "everywhere" | "coordinator";

/** One for every table of the schema. */
export const placements: Readonly<Record<keyof typeof tables, Placement>> = {
  // Distributed first; the others are colocated with it.
  bills: "account",
  billRevisions: "account",
  rejectedBills: "account",
  windows: "account",
  streams: "account",
  typeDays: "account",
  symbolDays: "account",
  dayEnds: "account",
  walletRules: "account",
  billOrder: "account",
  ledgerBreaks: "account",
  breakDecisions: "account",
  reconciledChains: "account",
  ltvSnapshots: "account",
  ltvDebts: "account",
  ltvCollateral: "account",
  // Joined to the bills of every account.
  businessTypes: "everywhere",
  // A process renews the leases of all its accounts in one statement, which no hanging node may hold up.
  leases: "coordinator",
  // The unique key spans accounts: it keeps one API key from two of them.
  accountKeys: "coordinator",
  keySalt: "coordinator",
  // Read as a whole.
  addedAccounts: "coordinator",
  // Belong to no account.
  syncRuns: "coordinator",
  symbols: "coordinator",
  symbolVersions: "coordinator",
  contracts: "coordinator",
  contractVersions: "coordinator",
  symbolLists: "coordinator",
  analyticsViews: "coordinator",
};

/** The tables whose rows are on their account's node. */
export const distributedTables: ReadonlySet<object> = new Set(
  Object.entries(tables).flatMap(([name, table]) =>
    placements[name as keyof typeof tables] === "account" ? [table] : [],
  ),
);
