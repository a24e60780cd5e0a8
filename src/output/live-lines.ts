import { printable } from "../printable.ts";

export type LiveLines = {
  /** Draws these lines in place of the previous ones. */
  readonly show: (lines: readonly string[]) => void;
  /** Writes a message above the lines, where it stays. */
  readonly say: (message: string) => void;
  /** Leaves the lines on the screen. Later output appears below them. */
  readonly end: () => void;
};

/** The part of a terminal that is used here. Its size may change at any time. */
export type Terminal = {
  readonly columns: number;
  readonly rows: number;
  readonly write: (text: string) => unknown;
};

const clearToEndOfLine = "\x1b[K";
const clearToEndOfScreen = "\x1b[J";

/**
 * Lines at the bottom of a terminal that are redrawn in place. The cursor stays below them and visible, so
 * that a process that is killed leaves the terminal in order.
 */
export function openLiveLines(terminal: Pick<Terminal, "columns" | "write">): LiveLines {
  let shown: readonly string[] = [];

  // A terminal that was made narrower has wrapped the lines that it shows.
  const rowsOf = (line: string) => Math.max(1, Math.ceil(line.length / (terminal.columns || 80)));
  const toFirstLine = () => {
    const rows = shown.reduce((sum, line) => sum + rowsOf(line), 0);
    return rows === 0 ? "" : `\r\x1b[${rows}A`;
  };
  const drawn = (lines: readonly string[]) =>
    `${lines.map((line) => `${line}${clearToEndOfLine}\n`).join("")}${clearToEndOfScreen}`;

  return {
    show(lines) {
      // One write a frame: a frame in parts would flicker.
      terminal.write(`${toFirstLine()}${drawn(lines)}`);
      shown = lines;
    },
    say(message) {
      terminal.write(`${toFirstLine()}${clearToEndOfScreen}${printable(message)}\n${drawn(shown)}`);
    },
    end() {
      shown = [];
    },
  };
}
