import type { BillPage } from "../../contract/account-bills.ts";
import type { EpochMs } from "../../contract/time.ts";

/** What is asked of the exchange for one page: the times as they are sent, both inclusive. */
export type PageRequest = {
  readonly startTime: EpochMs;
  readonly endTime: EpochMs;
  readonly idLessThan: string | undefined;
  readonly limit: number;
};

/** A page, and the exchange's time when it was put together. */
export type FetchedPage = BillPage & {
  readonly requestTime: EpochMs;
  /** Each row as it was served, letter for letter. Called only if a row cannot be read. */
  readonly rowTexts: () => readonly string[];
};

/** Calls `request` when its turn at the exchange has come, and again for each retry. */
export type FetchPage = (request: () => PageRequest) => Promise<FetchedPage>;
