import type { AlertName } from "./alerts.ts";
import type { FleetTotals } from "./fleet.ts";

/** A rule of ledgers, and how many it fires for. */
export type CountedAlert = { readonly name: AlertName; readonly ledgers: number };

/** @param unread how many accounts were never read that are to be. */
export const fleetAlerts = (totals: FleetTotals, unread: number): readonly CountedAlert[] => [
  { name: "BillSyncStale", ledgers: totals.stale + unread },
  { name: "BillSyncExpires", ledgers: totals.expiring },
  { name: "BillSyncLost", ledgers: totals.lostLately },
  { name: "BillSyncRejected", ledgers: totals.rejected },
  { name: "BillSyncBreak", ledgers: totals.broken },
];
