// A file that a command writes appears whole or not at all, and through no link of another user.

import { globSync, readFileSync } from "node:fs";
import { chmod, lstat, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fileOutput } from "../src/commands/output-file.ts";
import { makeWholeFile } from "../src/lib/whole-file.ts";
import { scratch } from "./support/scratch.ts";

/** A folder in which others may create files, as they may in /tmp. */
async function sharedFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(scratch, "bill-sync-shared-"));
  await chmod(path, 0o1777);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

test("nobody else can foresee the name under which a file is made, read it meanwhile, or have another one written by a link", async () => {
  await using folder = await sharedFolder();
  const [path, victim] = [join(folder.path, "ledger.gz"), join(folder.path, "private")];
  await writeFile(victim, "private");
  // The name that every user can foresee, and the output's own.
  await symlink(victim, join(folder.path, `.ledger.gz.${process.pid}.partial`));
  await symlink(victim, path);
  const before = await readdir(folder.path);
  const names = new Set<string>();
  for (const isCommitted of [false, true]) {
    await using output = await fileOutput(path, { mode: 0o600 });
    await output.write("bills");
    const [name = "", ...others] = (await readdir(folder.path)).filter(
      (name) => !before.includes(name),
    );
    expect([name, others]).toEqual([
      expect.stringMatching(/^\.ledger\.gz\.[\w-]{22}\.partial$/),
      [],
    ]);
    expect((await lstat(join(folder.path, name))).mode & 0o777).toBe(0o600);
    names.add(name);
    if (isCommitted) await output.commit();
  }
  expect(names.size).toBe(2);
  expect(await readdir(folder.path)).toEqual(before);
  expect(await readFile(victim, "utf8")).toBe("private");
  expect(await readFile(path, "utf8")).toBe("bills");
  const stats = await lstat(path);
  expect([stats.isFile(), stats.mode & 0o777]).toEqual([true, 0o600]);
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
  expect(writers.filter((path) => !path.startsWith("src/wings/embedded/"))).toEqual([
    "src/lib/whole-file.ts",
  ]);
});
