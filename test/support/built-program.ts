import { createHash } from "node:crypto";
import { copyFile, glob, mkdir, mkdtemp, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Plugin, rolldown } from "rolldown";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** The path of a built bin.js, to be run by Node. */
    program: string;
  }
}

export default async function setup(project: TestProject): Promise<void> {
  project.provide("program", await builtProgram());
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const cache = join(root, "node_modules", ".cache", "bill-sync-tests");
const entries = ["src/bin.js", "src/fast-start.js", "src/node-24.js"];
const keptMs = 24 * 60 * 60_000;

/**
 * Builds the program for tests that start it hundreds of times, unless the same source was built
 * before. The layout is that of a package: the same src/bin.js, next to a dist/cli.js that bundles
 * src and its imports in a few files. A start takes 0.15 to 0.2 s of CPU, instead of 0.4 to 0.5 s
 * from the source with its three hundred modules.
 * @returns the path of its bin.js.
 */
async function builtProgram(): Promise<string> {
  const built = join(cache, await digestOfSource());
  const bin = join(built, "src", "bin.js");
  if (await isThere(bin)) return bin;
  await mkdir(cache, { recursive: true });
  await removeOld();
  const temporary = await mkdtemp(join(cache, "building-"));
  await build(temporary);
  // Another run of the tests may have been faster.
  await rename(temporary, built).catch(() => rm(temporary, { recursive: true, force: true }));
  return bin;
}

async function digestOfSource(): Promise<string> {
  // A build contains paths of its clone, so a copied node_modules may have the build of another
  // clone.
  const hash = createHash("sha256").update(`${root}\n`);
  const sources = await Array.fromAsync(glob("src/**/*.{ts,js}", { cwd: root }));
  const own = join("test", "support", basename(import.meta.filename));
  for (const path of [...sources.sort(), "package-lock.json", own])
    hash.update(`${path}\n`).update(await readFile(join(root, path)));
  return hash.digest("hex").slice(0, 16);
}

async function build(folder: string): Promise<void> {
  const bundle = await rolldown({
    input: {
      cli: join(root, "src", "cli.ts"),
      "command-line": join(root, "src", "program.ts"),
    },
    cwd: root,
    platform: "node",
    // Not bundled: tests preload code that watches statements in the driver, which the program must
    // share.
    external: ["pg"],
    plugins: [ownUrl],
  });
  await bundle.write({ dir: join(folder, "dist"), format: "esm" });
  await bundle.close();
  for (const path of entries) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await copyFile(join(root, path), join(folder, path));
  }
}

/** Each module still finds the files next to it, SQL and package.json among them. */
const ownUrl: Plugin = {
  name: "own-url",
  transform: {
    filter: { code: /import\.meta\.url/ },
    handler: (code, id) =>
      code.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(id).href)),
  },
};

/** A run of the tests may still use an earlier build, so only old ones are removed. */
async function removeOld(): Promise<void> {
  for await (const path of glob("*", { cwd: cache })) {
    const folder = join(cache, path);
    const found = await stat(folder).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > keptMs)
      await rm(folder, { recursive: true, force: true });
  }
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
