// A limit on open files that is too low is reported with its remedy; so is a dead embedded server.

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openFilesCheck } from "../src/commands/doctor.ts";
import { isOutOfFiles, openFilesMax } from "../src/open-files.ts";
import { temporaryFolder } from "./support/cli.ts";

const program = fileURLToPath(new URL("../src/bin.js", import.meta.url));

/** The program with a limit on open files. About 20 is the lowest with which Node itself starts. */
async function runUnder(limit: number, args: string) {
  await using folder = await temporaryFolder();
  const shell = `ulimit -n ${limit} && exec "${process.execPath}" "${program}" ${args}`;
  const { PATH } = process.env;
  return spawnSync("sh", ["-c", shell], { cwd: folder.path, env: { PATH }, encoding: "utf8" });
}

const remedy = "the limit on open files (ulimit -n) is too low; raise it to 1024";

test.each([
  [40, "the embedded server"],
  [22, "this program"],
])(
  "a limit of %i open files, with which %s cannot live, is named, with the remedy",
  async (limit) => {
    const end = await runUnder(limit, "db migrate");
    expect(end.stderr).toContain(remedy);
    expect(end.stderr).not.toMatch(/defect|^ +at /m);
    expect(end.status).toBe(1);
  },
);

test("doctor warns of a low limit before it is met", async () => {
  expect(openFilesCheck(256)).toMatchObject([
    {
      status: "warn",
      result: "this process may have 256 open",
      remedy: expect.stringContaining(remedy),
    },
  ]);
  expect(openFilesCheck(1_024)).toEqual([]);
  expect(openFilesCheck(undefined)).toEqual([]);
  expect(openFilesMax()).toBeGreaterThan(0);
});

test("what could not be opened is seen wherever in an error it is said", () => {
  const cause = Object.assign(new Error("EMFILE: too many open files, open 'x'"), {
    code: "EMFILE",
  });
  expect(isOutOfFiles(new Error("cannot be read", { cause }))).toBe(true);
  expect(isOutOfFiles(new Error("Cannot read package config x: too many open files."))).toBe(true);
  expect(isOutOfFiles(new Error("other"))).toBe(false);
});
