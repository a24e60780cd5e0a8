/** A page with this many rows shows that pages are not tiny: even one that is cut short then has several rows. */
export const longPageMin = 8;

/**
 * What answers have shown about the exchange's pages. The walks of a run share one, since they ask the
 * same exchange. No walk relies on it without an answer of its own. So false answers to one walk, or servers
 * that differ, cost requests but no bills.
 */
export class PageHabits {
  #longest = 0;
  #isEndIncluded = true;

  /** Notes how many rows a page held. */
  look(rows: number): void {
    this.#longest = Math.max(this.#longest, rows);
  }

  /** Notes that a page had fewer rows than it should have. */
  noteShort(rows: number): void {
    this.#longest = rows;
  }

  /** Whether a page of so many rows may have been cut: no page was longer. */
  mayBeCut(rows: number): boolean {
    return rows >= this.#longest;
  }

  /**
   * Whether no page has yet shown that pages hold more than a few rows. A page of one row may then be all
   * that the exchange serves at once, and does not prove that there are no more rows.
   */
  get areTiny(): boolean {
    return this.#longest < longPageMin;
  }

  /**
   * Whether a question's end time is assumed to be inclusive. This only decides which question is asked first.
   * A walk relies on it only after its own answer to that question had a bill of the end time.
   */
  get isEndIncluded(): boolean {
    return this.#isEndIncluded;
  }

  /** @param isIncluded whether an answer had a bill of the end time that is known to exist. */
  noteEnd(isIncluded: boolean): void {
    this.#isEndIncluded = isIncluded;
  }
}
