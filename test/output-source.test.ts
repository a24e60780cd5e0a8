import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const uses = /\bio\.(?:out|err)\b|\bprocess\.std(?:out|err)\b|\bconsole\b|\b_rawDebug\b/;

test("what goes to a terminal goes through print and note, which spell out what it would act on", () => {
  const users = globSync("src/**/*.{ts,js}").filter((path) =>
    uses.test(readFileSync(path, "utf8")),
  );
  // Each of these files was reviewed. A new one is reviewed, and then listed.
  expect(users.toSorted()).toEqual([
    // Takes the ledgers from the process, survives their errors and waits for their end.
    "src/cli.ts",
    // Asks whether the output is a terminal.
    "src/commands/export.ts",
    // Defines print, note and the like.
    "src/commands/io.ts",
    // Writes an export, byte for byte where the output is not a terminal.
    "src/commands/output-file.ts",
    // Draws the progress display, in which names are escaped.
    "src/commands/sync-reporter.ts",
    // Writes only this program's own text.
    "src/node-24.js",
    // Asks whether the output is a terminal.
    "src/wings/sandbox/demo.ts",
  ]);
});
