import type { BillsApi } from "../contract/bills-api.ts";
import { type EpochMs, epochMs } from "../contract/time.ts";
import type { Interval } from "./intervals.ts";
import type { PageCommit } from "./store.ts";

/** What one walk of a verification has seen so far. */
export class VerifiedWindow {
  readonly #api: Pick<BillsApi, "idOf" | "timeOf">;
  readonly window: Interval;
  /** The database's time when it began. */
  readonly since: string;
  readonly served = new Set<string>();
  /** From where on the exchange still served. */
  readFrom: EpochMs;

  constructor(api: Pick<BillsApi, "idOf" | "timeOf">, window: Interval, since: string) {
    this.#api = api;
    this.window = window;
    this.since = since;
    this.readFrom = window.from;
  }

  /**
   * Notes a page.
   * @returns its bills of this window that were not served before, none twice, and its rows that
   *   broke the contract, but for those that are dated outside of the window.
   */
  take({ bills, rejected, next }: PageCommit): Pick<PageCommit, "bills" | "rejected"> {
    const isInside = (time: EpochMs) => time >= this.window.from && time < this.window.to;
    const fresh = new Map(
      bills
        .filter(({ billId, cTime }) => isInside(cTime) && !this.served.has(billId))
        .map((bill) => [bill.billId, bill]),
    );
    const broken = rejected.filter(({ received }) => {
      const cTime = this.#api.timeOf(received);
      return cTime === undefined || isInside(cTime);
    });
    for (const { billId } of bills) this.served.add(billId);
    // A bill whose row cannot be read any more is no extra one.
    for (const { received } of rejected) {
      const billId = this.#api.idOf(received);
      if (billId !== undefined) this.served.add(billId);
    }
    if ("end" in next) {
      const expired = next.end.expired.map(({ to }) => to);
      this.readFrom = epochMs(Math.max(this.window.from, ...expired));
    }
    return { bills: [...fresh.values()], rejected: broken };
  }
}
