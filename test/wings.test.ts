// Each wing can be deleted: its folder, and the lines of src/program.ts that name it.
import { execFile } from "node:child_process";
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";
import { scratch } from "./support/scratch.ts";

const typescript = dirname(createRequire(import.meta.url).resolve("typescript/package.json"));

const wings = readdirSync("src/wings");

/** The lines that name a wing go, and a command of which nothing but the description is left. */
const without = (wing: string, program: string): string =>
  program
    .replaceAll(new RegExp(`^.*"\\./wings/${wing}/.*\n`, "gm"), "")
    .replaceAll(/^ {2}\S+: \[\n {4}".*",\n {2}\],\n/gm, "");

/** @returns what the compiler says. */
const typeCheck = (cwd: string): Promise<string> =>
  new Promise((done) => {
    const args = [join(typescript, "bin", "tsc"), "--incremental", "false"];
    execFile(process.execPath, args, { cwd }, (_, said) => done(said));
  });

test.for(wings)("src compiles without the wing %s", async (wing) => {
  const folder = mkdtempSync(join(scratch, "bill-sync-wings-"));
  try {
    for (const path of ["src", "package.json", "tsconfig.json"])
      cpSync(path, join(folder, path), { recursive: true });
    symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
    rmSync(join(folder, "src", "wings", wing), { recursive: true });
    const program = join(folder, "src", "program.ts");
    writeFileSync(program, without(wing, readFileSync(program, "utf8")));
    expect(await typeCheck(folder)).toBe("");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
