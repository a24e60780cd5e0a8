import type { EpochMs } from "../contract/time.ts";
import type { WireBill } from "./entry.ts";

/** A bill of the ledger: its row as served, and what the sandbox knows about it. */
export type LedgerBill = {
  readonly billId: string;
  readonly cTime: EpochMs;
  /** When the exchange begins to serve it: its cTime, or up to 10 minutes later. */
  readonly visibleAt: EpochMs;
  readonly businessType: string;
  readonly coin: string;
  /** An object as the API sends it; any value if the row was broken on purpose. */
  readonly row: unknown;
  /** How the row was broken on purpose; undefined if it was not. */
  readonly broken?: string;
  /** Other content that is served from a time on. */
  readonly restated?: { readonly at: EpochMs; readonly row: WireBill };
};
