// A file that a command writes appears whole or not at all, and through no link of another user.

import { globSync, readFileSync } from "node:fs";
import { chmod, lstat, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { fileOutput } from "../src/commands/output-file.ts";
import { makeWholeFile } from "../src/whole-file.ts";
import { scratch } from "./support/scratch.ts";

/** A folder in which others may create files, as they may in /tmp. */
async function sharedFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(scratch, "bill-sync-shared-"));
  await chmod(path, 0o1777);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

const ownerOnly = { mode: 0o600 };

test("a file that another user put where the output is made is neither written nor followed", async () => {
  await using folder = await sharedFolder();
  const path = join(folder.path, "ledger.gz");
  const victim = join(folder.path, "private");
  await writeFile(victim, "private");
  // The name that every user can foresee.
  await symlink(victim, join(folder.path, `.ledger.gz.${process.pid}.partial`));
  await using output = await fileOutput(path, ownerOnly);
  await output.write("bills");
  await output.commit();
  expect(await readFile(victim, "utf8")).toBe("private");
  expect(await readFile(path, "utf8")).toBe("bills");
  const stats = await lstat(path);
  expect([stats.isFile(), stats.mode & 0o777]).toEqual([true, 0o600]);
});

test("nobody else can foresee the name under which a file is made, or read it meanwhile", async () => {
  await using folder = await sharedFolder();
  const path = join(folder.path, "ledger.gz");
  const names: string[] = [];
  for (let made = 0; made < 3; made++) {
    await using output = await fileOutput(path, ownerOnly);
    await output.write("bills");
    const [name = "", ...others] = await readdir(folder.path);
    expect(others).toEqual([]);
    expect((await lstat(join(folder.path, name))).mode & 0o777).toBe(0o600);
    names.push(name.replace(basename(path), ""));
  }
  expect(names).toEqual(names.map(() => expect.stringMatching(/^\.\.[\w-]{22}\.partial$/)));
  expect(new Set(names).size).toBe(3);
  expect(await readdir(folder.path)).toEqual([]);
});

test("a link where the output is to be is replaced, and not followed", async () => {
  await using folder = await sharedFolder();
  const [path, victim] = [join(folder.path, "ledger.gz"), join(folder.path, "private")];
  await writeFile(victim, "private");
  await symlink(victim, path);
  await using output = await fileOutput(path, ownerOnly);
  await output.write("bills");
  await output.commit();
  expect(await readFile(victim, "utf8")).toBe("private");
  expect((await lstat(path)).isFile()).toBe(true);
});

test("a link under a name that all its writers share is not followed", async () => {
  await using folder = await sharedFolder();
  const [path, victim] = [join(folder.path, "keys.json"), join(folder.path, "private")];
  await writeFile(victim, "private");
  await symlink(victim, `${path}.next`);
  await expect(makeWholeFile(path, { partial: `${path}.next` })).rejects.toMatchObject({
    code: "EEXIST",
  });
  expect(await readFile(victim, "utf8")).toBe("private");
});

test("every file that a command writes is made so", () => {
  const writers = globSync("src/**/*.ts").filter((path) =>
    /\b(?:writeFile|appendFile|createWriteStream|open|rename)(?:Sync)?\b.*from "node:fs/s.test(
      readFileSync(path, "utf8"),
    ),
  );
  // The embedded server's own folder is entered by its user and root alone.
  expect(writers.filter((path) => !path.startsWith("src/db/embedded/"))).toEqual([
    "src/whole-file.ts",
  ]);
});
