import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = new URL("../", import.meta.url);

/** Node's own look-up of a module, which comes after the program's. */
const countLookUps = `
  import module from "node:module";
  globalThis.lookedUp = [];
  module.registerHooks({
    resolve(specifier, context, next) {
      globalThis.lookedUp.push([specifier, context.parentURL]);
      return next(specifier, context);
    },
  });`;

/** What a process has loaded for the command `sync`, and what Node looked up of Drizzle. */
async function loadedForSync(): Promise<{
  readonly files: readonly string[];
  readonly lookedUp: readonly string[];
  readonly ofNode: readonly string[];
}> {
  const script = `
    import { createRequire } from "node:module";
    await import(${JSON.stringify(new URL("src/commands/sync.ts", root).href)});
    const files = Object.keys(createRequire(import.meta.url).cache);
    const isOfDrizzle = (name) => name?.includes("drizzle-orm");
    console.log(JSON.stringify({
      files: files.filter(isOfDrizzle),
      lookedUp: globalThis.lookedUp.flatMap(([name, from]) =>
        isOfDrizzle(name) || (name.startsWith(".") && isOfDrizzle(from)) ? [name] : []),
      ofNode: process.moduleLoadList,
    }));`;
  const preloaded = [
    `data:text/javascript,${encodeURIComponent(countLookUps)}`,
    new URL("src/fast-start.js", root).href,
  ];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...preloaded.flatMap((url) => ["--import", url]), "--input-type=module", "-e", script],
    { cwd: fileURLToPath(root) },
  );
  return JSON.parse(stdout);
}

test("Drizzle is loaded from its CommonJS build, which takes a tenth of the time and memory", async () => {
  const { files } = await loadedForSync();
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter((file) => !file.endsWith(".cjs"))).toEqual([]);
});

test("Node looks up each name of Drizzle once, for it parses 179 kB each time", async () => {
  const { lookedUp } = await loadedForSync();
  expect(lookedUp).toContain("drizzle-orm/node-postgres");
  expect(lookedUp.toSorted()).toEqual([...new Set(lookedUp)].toSorted());
});

test("no HTTP/2 is loaded, which the exchange is never asked by", async () => {
  const { ofNode } = await loadedForSync();
  expect(ofNode).toContain("NativeModule http");
  expect(ofNode.filter((name) => name.includes("http2"))).toEqual([]);
});
