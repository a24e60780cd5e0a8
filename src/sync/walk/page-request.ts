import type { BillPage } from "../../contract/account-bills.ts";
import type { EpochMs } from "../../contract/time.ts";

/** What is asked of the exchange for one page: times as they are sent, both ends included. */
export type PageRequest = {
  readonly startTime: EpochMs;
  readonly endTime: EpochMs;
  readonly idLessThan: string | undefined;
  readonly limit: number;
};

/** A page, and the exchange's time when it was put together. */
export type FetchedPage = BillPage & {
  readonly requestTime: EpochMs;
  /** Each row as it was written: only asked for where one cannot be read. */
  readonly rowTexts: () => readonly string[];
};

/** Calls for the request when its turn at the exchange has come, and again for a retry. */
export type FetchPage = (request: () => PageRequest) => Promise<FetchedPage>;
