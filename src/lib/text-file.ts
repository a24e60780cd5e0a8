import { readFileSync } from "node:fs";

/** By the byte order mark with which an editor begins a file: Windows calls the first of these "Unicode". */
const encodings = [
  { mark: Buffer.from([0xff, 0xfe]), name: "utf-16le" },
  { mark: Buffer.from([0xfe, 0xff]), name: "utf-16be" },
];

/**
 * The text of a file that a person wrote, in whatever way the editor saved it: with or without a byte order mark, in
 * UTF-8 or UTF-16, with the line ends of any system.
 * @throws the system's error; an Error where the file is no text.
 */
export function readTextFile(path: string): string {
  const bytes = readFileSync(path);
  const encoding = encodings.find(({ mark }) => bytes.subarray(0, mark.length).equals(mark));
  const text = new TextDecoder(encoding?.name).decode(bytes);
  if (text.includes("\0")) throw new Error("it is not UTF-8 text; save it as UTF-8");
  return text.replaceAll(/\r\n?/g, "\n");
}
