import { type EpochMs, epochMs } from "../../lib/time.ts";
import type { Bill } from "../contract/bill.ts";
import type { RowFault } from "../contract/json.ts";
import type { Interval } from "./intervals.ts";
import type { Ledger } from "./ledger.ts";

/** A row that broke the contract. */
export type RejectedRow = {
  readonly received: unknown;
  /** The row as the answer has it, letter for letter. */
  readonly text: string;
  readonly fault: RowFault;
};

/** The rows of an answer: those that could be read, and those that broke the contract. */
export type ReadRows = {
  readonly bills: readonly Bill[];
  readonly rejected: readonly RejectedRow[];
};

/** What a finished walk proves of its window. */
export type WalkEnd = {
  /** The time that is now proven complete; empty if all of it is still settling. */
  readonly proven: readonly Interval[];
  /** The time that became older than the horizon before it was read. */
  readonly lost: readonly Interval[];
};

export type WindowMove = {
  readonly cursor: string | undefined;
  /** The older parts of the window, which become windows of their own. It keeps the rest. Default none. */
  readonly handedBack?: readonly Interval[];
};

/** The part of a window that its walk keeps. */
export const keptPart = ({ from, to }: Interval, handedBack: readonly Interval[]): Interval => ({
  from: epochMs(Math.max(from, ...handedBack.map((part) => part.to))),
  to,
});

/** A page and everything that it changes. It is committed as a whole or not at all. */
export type PageCommit = {
  readonly ledger: Ledger;
  readonly window: Interval;
  readonly startedAt: EpochMs;
  /** The window's cursor before the page: that of the page before. */
  readonly cursorBefore: string | undefined;
  readonly bills: readonly Bill[];
  readonly rejected: readonly RejectedRow[];
  /** The window's cursor after the page (see WindowCursor), or what its finished walk proved. */
  readonly next: WindowMove | { readonly end: WalkEnd };
};

export type PageCounts = {
  readonly new: number;
  readonly unchanged: number;
  readonly restated: number;
  readonly rejected: number;
};

/** A page that was read of a window. */
type ReadPage = {
  /** The id below which a later run may resume; undefined if it must begin with the newest page. */
  readonly resumeBelow: string | undefined;
  /** How many pages the walk has read before this one. */
  readonly number: number;
  /** Whether the page stores anything. */
  readonly isStoring: boolean;
};

/**
 * A window's cursor says how far it was read: the id below which a later run resumes, or "anew" and a number where it must begin
 * again. Each page that stores something changes it. The commit of the next page compares it with the stored one, and so
 * notices if the page before is missing.
 */
export class WindowCursor {
  #text: string | undefined;
  #below: string | undefined;

  constructor(cursor: string | undefined) {
    this.#text = cursor;
    this.#below = cursor;
  }

  /** The cursor as it is stored; undefined as long as the window has none. */
  get text(): string | undefined {
    return this.#text;
  }

  get #isResumable(): boolean {
    return this.#text !== undefined && !beginsAnew(this.#text);
  }

  moveTo({ resumeBelow, number, isStoring }: ReadPage): void {
    if (resumeBelow !== undefined && resumeBelow !== this.#below) {
      this.#below = resumeBelow;
      this.#text = resumeBelow;
    } else if (isStoring || (resumeBelow === undefined && this.#isResumable)) {
      this.#text = `anew ${number}`;
    }
  }
}

/** Whether a later run begins the window again, with its newest page. */
export const beginsAnew = (cursor: string): boolean => cursor.startsWith("anew ");
