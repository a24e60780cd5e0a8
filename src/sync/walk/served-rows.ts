import type { Bill } from "../../contract/bill.ts";
import type { RejectedRow } from "../store.ts";

/** The rows of a page: those that could be read, and those that broke the contract. */
export type ReadRows = {
  readonly bills: readonly Bill[];
  readonly rejected: readonly RejectedRow[];
};

// A page overlaps only its neighbours.
const pagesRemembered = 2;

/** Removes rows that the last pages had letter for letter: overlapping pages repeat them. */
export class ServedRows {
  #pages: readonly { bills: ReadonlyMap<string, Bill>; texts: ReadonlySet<string> }[] = [];

  unknown({ bills, rejected }: ReadRows): ReadRows {
    const isKnown = (bill: Bill): boolean =>
      this.#pages.some((page) => {
        const before = page.bills.get(bill.billId);
        return before !== undefined && JSON.stringify(before) === JSON.stringify(bill);
      });
    const unknown = {
      bills: bills.filter((bill) => !isKnown(bill)),
      rejected: rejected.filter(({ text }) => !this.#pages.some(({ texts }) => texts.has(text))),
    };
    if (bills.length + rejected.length > 0) this.#remember({ bills, rejected });
    return unknown;
  }

  #remember({ bills, rejected }: ReadRows): void {
    const page = {
      bills: new Map(bills.map((bill) => [bill.billId, bill])),
      texts: new Set(rejected.map(({ text }) => text)),
    };
    this.#pages = [page, ...this.#pages].slice(0, pagesRemembered);
  }
}
