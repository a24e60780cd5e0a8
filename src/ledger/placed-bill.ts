import type { Bill } from "../contract/bill.ts";
import type { Stream } from "../sync/store.ts";

/** A bill, and the index of its page among the pages that are stored together. */
export type PlacedBill = { readonly page: number; readonly stream: Stream; readonly bill: Bill };
