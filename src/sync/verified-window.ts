import type { BillsApi } from "../contract/bills-api.ts";
import { type EpochMs, epochMs } from "../contract/time.ts";
import type { Interval } from "./intervals.ts";
import type { PageCommit } from "./store.ts";
import { isStray } from "./walk/strays.ts";

/** What the verification of one window has been served so far. */
export class VerifiedWindow {
  readonly #api: Pick<BillsApi, "idOf" | "timeOf">;
  readonly window: Interval;
  readonly served = new Set<string>();
  /** The oldest time of the window that the exchange still served. */
  readFrom: EpochMs;

  constructor(api: Pick<BillsApi, "idOf" | "timeOf">, window: Interval) {
    this.#api = api;
    this.window = window;
    this.readFrom = window.from;
  }

  isStray(time: EpochMs): boolean {
    return isStray(time, { startTime: this.window.from, endTime: this.window.to });
  }

  /**
   * Records a page.
   * @returns the page's bills of this window, and those that were booked in it long after their times, if they
   *   were not served before, without duplicates; its rows that broke the contract, without those whose time is
   *   outside the window.
   */
  take({ bills, rejected, next }: PageCommit): Pick<PageCommit, "bills" | "rejected"> {
    const isInside = (time: EpochMs) => time >= this.window.from && time < this.window.to;
    const fresh = new Map(
      bills
        .filter(({ cTime }) => isInside(cTime) || this.isStray(cTime))
        .filter(({ billId }) => !this.served.has(billId))
        .map((bill) => [bill.billId, bill]),
    );
    const broken = rejected.filter(({ received }) => {
      const cTime = this.#api.timeOf(received);
      return cTime === undefined || isInside(cTime);
    });
    for (const { billId } of bills) this.served.add(billId);
    // A stored bill is not reported as extra if its row is still served but can no longer be read.
    for (const { received } of rejected) {
      const billId = this.#api.idOf(received);
      if (billId !== undefined) this.served.add(billId);
    }
    if ("end" in next) {
      const lost = next.end.lost.map(({ to }) => to);
      this.readFrom = epochMs(Math.max(this.window.from, ...lost));
    }
    return { bills: [...fresh.values()], rejected: broken };
  }
}
