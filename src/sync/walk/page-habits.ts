/** A page with this many rows shows that pages are long: one that is cut has several still. */
export const longPageMin = 8;

/**
 * What answers have shown of the exchange's pages. One is shared by the walks of a run, for the exchange
 * is the same to all of them. No walk believes it without an answer of its own, so an exchange that lies to
 * one of them, or whose servers differ, costs requests and no bills.
 */
export class PageHabits {
  #longest = 0;
  #isEndIncluded = true;

  /** Notes how many rows a page held. */
  look(rows: number): void {
    this.#longest = Math.max(this.#longest, rows);
  }

  /**
   * Whether no page has shown yet that pages hold more than a handful of rows. A page of one row may then
   * be all that the exchange serves at once, and proves nothing about what lies behind it.
   */
  get areTiny(): boolean {
    return this.#longest < longPageMin;
  }

  /**
   * Whether bills of the end time's own millisecond are taken to be served. It decides only which question
   * is asked first: a walk counts on it where its own answer, to that question, has served such a bill.
   */
  get isEndIncluded(): boolean {
    return this.#isEndIncluded;
  }

  /** @param isIncluded whether a bill of that millisecond, known to be there, was served. */
  noteEnd(isIncluded: boolean): void {
    this.#isEndIncluded = isIncluded;
  }
}
