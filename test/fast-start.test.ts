import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = new URL("../", import.meta.url);

/** The files of Drizzle that a process has loaded after it has loaded this module of the program. */
async function drizzleFiles(module: string): Promise<readonly string[]> {
  const script = `
    import { createRequire } from "node:module";
    await import(${JSON.stringify(new URL(module, root).href)});
    const { cache } = createRequire(import.meta.url);
    console.log(JSON.stringify(Object.keys(cache).filter((file) => file.includes("drizzle-orm"))));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", new URL("src/fast-start.js", root).href, "--input-type=module", "-e", script],
    { cwd: fileURLToPath(root) },
  );
  return JSON.parse(stdout);
}

test("Drizzle is loaded from its CommonJS build, which takes a tenth of the time and memory", async () => {
  const files = await drizzleFiles("src/core/postgres/schema/schema.ts");
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter((file) => !file.endsWith(".cjs"))).toEqual([]);
});
