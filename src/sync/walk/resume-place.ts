type Page = {
  /** The id below which a later run may resume; undefined if it must begin with the newest page. */
  readonly resumeBelow: string | undefined;
  /** How many pages came before. */
  readonly number: number;
  /** Whether it stores anything. */
  readonly isStoring: boolean;
};

/**
 * How far a window was read: an id below which a later run resumes, or "anew" and a number. Each page that
 * stores something changes it. The next page's commit compares it, and so notices if that page is gone.
 */
export class ResumePlace {
  #text: string | undefined;
  #below: string | undefined;

  constructor(cursor: string | undefined) {
    this.#text = cursor;
    this.#below = cursor;
  }

  /** Undefined where the window's walk has not begun. */
  get text(): string | undefined {
    return this.#text;
  }

  get #isResumable(): boolean {
    return this.#text !== undefined && !isAnew(this.#text);
  }

  pass({ resumeBelow, number, isStoring }: Page): void {
    if (resumeBelow !== undefined && resumeBelow !== this.#below) {
      this.#below = resumeBelow;
      this.#text = resumeBelow;
    } else if (isStoring || (resumeBelow === undefined && this.#isResumable)) {
      this.#text = `anew ${number}`;
    }
  }
}

/** Whether a later run begins the window again, with its newest page. */
export const isAnew = (place: string): boolean => place.startsWith("anew ");
