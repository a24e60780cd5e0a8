import type { EpochMs } from "../contract/time.ts";
import type { WireBill } from "./entry.ts";

/** A bill of the ledger: the row as it is served, and what the sandbox knows of it. */
export type LedgerBill = {
  readonly billId: string;
  readonly cTime: EpochMs;
  /** When the exchange begins to serve it: its cTime, or up to 10 minutes later. */
  readonly visibleAt: EpochMs;
  readonly businessType: string;
  readonly coin: string;
  /** An object as the API sends it; anything at all where the row was broken on purpose. */
  readonly row: unknown;
  /** Set where the row was broken on purpose, with how. */
  readonly broken?: string;
  /** Another content, served from a time on. */
  readonly restated?: { readonly at: EpochMs; readonly row: WireBill };
};
