import PQueue from "p-queue";
import { accountBills } from "../contract/account-bills.ts";

// All windows of an account's first sync, 13 of each of six product types: how long a walk is
// shows after its first page. With 16 at once, the longest could be the last to begin, and at
// 800 ms a backfill of 72 s took 82.
const walksAtOnce = 128;
// A division costs a request or two, for the answer that says that a part is empty and for pages
// that are less full. Parts of fewer pages than these do not win that back.
const pagesPerPartMin = 3;
// A walk that has fewer requests left than these is as good as gone: looked at too late, slots
// idle until the parts have begun.
const requestsAhead = 5;
// What is left is a guess: a cluster of bills in one millisecond looks like a week full of them, and
// a slow answer like slots that idle. Without a bound a run before a faulty exchange divided a week
// into 500 parts. So many are free, and another one for each so many pages.
const partsFree = 20;
const pagesPerFurtherPart = 20;
// A page's time is the mean of about so many.
const cyclesAveraged = 8;

const { requests, perMs } = accountBills.limit;

/** What a walk says of itself after a page. */
export type WalkState = {
  /** How many are likely left. */
  readonly pagesLeft: number;
  /** From the sending of the page's request to its commit. */
  readonly tookMs: number;
};

export type PoolMember = {
  /** @returns into how many parts the walk should divide what is left to it; 1: not at all. */
  afterPage(state: WalkState): number;
  /** Of the requests that wait for the limit, the one whose walk has the highest should go first. */
  urgency(): number;
};

/**
 * Runs an account's walks side by side, so that no slot of the limiter idles.
 *
 * A walk's pages hang on one another by their cursors: it can use one slot for a page's time,
 * and no other. So the longest goes first, and all come to their ends together. Where so few are
 * left that they cannot use all slots (ten a second times a page's time, by Little's law), the
 * longest is told to divide what is left to it, into as many parts as there are walks missing.
 */
export class WalkPool {
  readonly #queue = new PQueue({ concurrency: walksAtOnce });
  /** Of the running walks that had a page. */
  readonly #pagesLeft = new Map<PoolMember, number>();
  #cycleMs: number | undefined;
  #pages = 0;
  #parts = 0;

  /** Runs it when its turn comes: in the order in which they are added. */
  add(walk: (member: PoolMember) => Promise<void>): void {
    const member: PoolMember = {
      afterPage: (state) => this.#partsFor(member, state),
      // How long one is that has just begun is worth knowing first.
      urgency: () => this.#pagesLeft.get(member) ?? Number.POSITIVE_INFINITY,
    };
    void this.#queue.add(async () => {
      await walk(member);
      this.#pagesLeft.delete(member);
    });
  }

  /** Resolves when all are done, and those that they added. */
  async done(): Promise<void> {
    await this.#queue.onIdle();
  }

  #partsFor(member: PoolMember, { pagesLeft, tookMs }: WalkState): number {
    this.#pagesLeft.set(member, pagesLeft);
    this.#pages += 1;
    this.#cycleMs ??= tookMs;
    this.#cycleMs += (tookMs - this.#cycleMs) / cyclesAveraged;
    const known = [...this.#pagesLeft.values()];
    if (this.#queue.size > 0 || pagesLeft < Math.max(...known)) return 1;
    const begun = this.#queue.pending - known.length;
    const lasting = known.reduce(
      (sum, pages) => sum + Math.min(1, (pages + 1) / requestsAhead),
      begun,
    );
    const missing = Math.ceil((requests * this.#cycleMs) / perMs - lasting);
    const allowed = partsFree + Math.floor(this.#pages / pagesPerFurtherPart) - this.#parts;
    const worthwhile = Math.floor(pagesLeft / pagesPerPartMin);
    const parts = Math.max(1, Math.min(1 + missing, worthwhile, requests, 1 + allowed));
    this.#parts += parts - 1;
    return parts;
  }
}
