type Page = {
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
    return this.#text !== undefined && !isAnew(this.#text);
  }

  moveTo({ resumeBelow, number, isStoring }: Page): void {
    if (resumeBelow !== undefined && resumeBelow !== this.#below) {
      this.#below = resumeBelow;
      this.#text = resumeBelow;
    } else if (isStoring || (resumeBelow === undefined && this.#isResumable)) {
      this.#text = `anew ${number}`;
    }
  }
}

/** Whether a later run begins the window again, with its newest page. */
export const isAnew = (cursor: string): boolean => cursor.startsWith("anew ");
