import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const uses = /\bio\.(?:out|err)\b|\bprocess\.std(?:out|err)\b|\bconsole\b|\b_rawDebug\b/;

test("what goes to a terminal goes through print and tell, which spell out what it would act on", () => {
  const users = globSync("src/**/*.{ts,js}").filter((path) =>
    uses.test(readFileSync(path, "utf8")),
  );
  // Each of these was looked at. A new one is looked at, then listed.
  expect(users.toSorted()).toEqual([
    // print, tell and their like.
    "src/app/io.ts",
    // Takes them from the process, outlives their errors and waits for their end.
    "src/cli.ts",
    // Asks whether it is a terminal.
    "src/commands/demo.ts",
    // An export, byte for byte where it is not a terminal.
    "src/commands/export/export-output.ts",
    // Asks whether it is a terminal.
    "src/commands/export/export.ts",
    // Turns the output of a verification aside.
    "src/commands/reconcile/reconcile.ts",
    // The progress display, in which names are spelled out.
    "src/commands/sync/reporter.ts",
    // A text of this program alone.
    "src/node-24.js",
  ]);
});
