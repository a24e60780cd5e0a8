/** What a terminal acts on, and what it does not show: controls, line ends, marks that turn text round. */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** A foreign text may be thousands of characters long; what tells texts apart stands at their start. */
const lengthMax = 300;

/** With each of them spelled out, `\u{1b}` for one, and its own lines left alone. */
export const printable = (text: string): string =>
  text.replaceAll(unseen, (sign) =>
    sign === "\n" ? sign : `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`,
  );

/** A foreign name or message as a part of a line: one that holds a line end could forge a line. */
export const printableLine = (text: string): string => {
  const line = printable(text.slice(0, lengthMax).toWellFormed()).replaceAll("\n", "\\n");
  return text.length > lengthMax ? `${line}…` : line;
};

/** A text for a message, in which a very long word is cut. */
export const withShortWords = (text: string): string =>
  text.replaceAll(/\S+/g, (word) =>
    word.length > lengthMax ? `${word.slice(0, lengthMax).toWellFormed()}…` : word,
  );

/** JSON in which strings hold none of them, and are the same strings to whoever parses it. */
export const printableJson = (json: string): string =>
  json.replaceAll(unseen, (sign) =>
    sign === "\n"
      ? sign
      : Array.from(
          sign.split(""),
          (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
        ).join(""),
  );

/** A name as a word of a command that somebody may copy into a shell. */
export const shellWord = (name: string): string =>
  /^[\w./:-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
