// A limit on open files that is too low is reported with its remedy; so is a dead embedded server.

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
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

test.each([40, 22])(
  "a limit of %i open files is too low, and named with the remedy",
  async (limit) => {
    const end = await runUnder(limit, "db migrate");
    expect(end.stderr).toContain(remedy);
    expect(end.stderr).not.toMatch(/defect|^ +at /m);
    expect(end.status).toBe(1);
  },
);
