const esc = "\u001b";
// Cursor up, erase, return or newline, and any character; a bare escape is an unknown sequence.
const tokens = new RegExp(`${esc}\\[(\\d+)A|${esc}\\[([KJ])|([\\r\\n])|([^${esc}])|${esc}`, "gu");

const rowsShown = 24;

/** What a terminal of this size shows of its input, with the sequences that the program uses. */
export class Screen {
  columns: number;
  /** The lines that have scrolled off the top, and then the visible rows. */
  #lines: string[] = [""];
  #row = 0;
  #column = 0;

  constructor(columns = 80) {
    this.columns = columns;
  }

  write(text: string): boolean {
    for (const [token, up, erase, control, plain] of text.matchAll(tokens)) {
      if (up !== undefined) this.#row = Math.max(this.#top, this.#row - Number(up));
      else if (erase !== undefined) this.#erase(erase);
      else if (control === "\r") this.#column = 0;
      else if (control === "\n") this.#newLine();
      else if (plain !== undefined) this.#put(plain);
      else throw new Error(`this screen does not know ${JSON.stringify(token)}`);
    }
    return true;
  }

  /** All lines, without trailing blanks, and without the last one if it is empty. */
  get lines(): readonly string[] {
    const lines = this.#lines.map((line) => line.trimEnd());
    return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
  }

  get #top(): number {
    return Math.max(0, this.#lines.length - rowsShown);
  }

  #newLine(): void {
    this.#row += 1;
    this.#column = 0;
    if (this.#row === this.#lines.length) this.#lines.push("");
  }

  #put(character: string): void {
    if (this.#column === this.columns) this.#newLine();
    const line = (this.#lines[this.#row] ?? "").padEnd(this.#column);
    this.#lines[this.#row] = line.slice(0, this.#column) + character + line.slice(this.#column + 1);
    this.#column += 1;
  }

  #erase(kind: string): void {
    this.#lines[this.#row] = (this.#lines[this.#row] ?? "").slice(0, this.#column);
    if (kind === "J") this.#lines.length = this.#row + 1;
  }
}
