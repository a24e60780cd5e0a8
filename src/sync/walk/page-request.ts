import type { BillPage } from "../../contract/account-bills.ts";
import type { EpochMs } from "../../contract/time.ts";

/** The request for one page, with the times as they are sent. */
export type PageRequest = {
  readonly startTime: EpochMs;
  readonly endTime: EpochMs;
  readonly idLessThan: string | undefined;
  readonly limit: number;
};

/** A page, and the exchange's time when it received the request. */
export type FetchedPage = BillPage & {
  readonly requestTime: EpochMs;
  /** The rows as they were served, letter for letter. Called only if a row cannot be read. */
  readonly rowTexts: () => readonly string[];
};

/** Fetches a page. `request` is called when the rate limit allows sending, and again for each retry. */
export type FetchPage = (request: () => PageRequest) => Promise<FetchedPage>;
