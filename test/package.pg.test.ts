import { type ExecFileOptions, execFile } from "node:child_process";
import { copyFile, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createRequire, stripTypeScriptTypes } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSandbox } from "./exchange/sandbox.ts";
import { environmentFor, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
const modules = join(root, "node_modules");
const consumer = join(root, "test/fixtures/consumer/consumer.ts");
const productType = "USDT-FUTURES";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let packed: readonly string[] = [];

/** Runs in the folder of a program that has installed the package. */
const inFolder = (args: readonly string[], options: ExecFileOptions = {}) =>
  run(process.execPath, args, {
    cwd: folder.path,
    env: { PATH: process.env["PATH"] },
    ...options,
    encoding: "utf8",
  });

// Packed as a user packs it, and installed as npm would, except for its dependencies: those are this
// clone's, so that no registry is asked.
beforeAll(async () => {
  folder = await temporaryFolder();
  const own = join(folder.path, "node_modules", "bill-sync");
  await mkdir(own, { recursive: true });
  await run("npm", ["pack", "--pack-destination", folder.path], { cwd: root });
  const [tarball = ""] = (await readdir(folder.path)).filter((name) => name.endsWith(".tgz"));
  await run("tar", ["-xzf", join(folder.path, tarball), "-C", own, "--strip-components", "1"]);
  packed = await readdir(own, { recursive: true });
  const { dependencies, optionalDependencies } = JSON.parse(
    await readFile(join(own, "package.json"), "utf8"),
  );
  const linked = new Set(
    Object.keys({ ...dependencies, ...optionalDependencies }).map((name) => name.split("/")[0]),
  );
  for (const name of [...linked, "@types"]) {
    if (name === undefined || !(await readdir(modules)).includes(name)) continue;
    await symlink(join(modules, name), join(folder.path, "node_modules", name));
  }
  await writeFile(join(folder.path, "package.json"), JSON.stringify({ type: "module" }));
});

afterAll(() => folder[Symbol.asyncDispose]());

test("the package holds what runs and nothing else, and all SQL that the source reads", async () => {
  const allowed =
    /^(README\.md|LICENSE|package\.json|\.env\.example|src(\/[\w-]+\.js)?|ops(\/(alerts\.yaml|dashboard\.json|(systemd|kubernetes|citus)(\/[\w@.-]+)?))?|docs(\/[\w-]+\.md)?|dist(\/.*)?|migrations(\/meta(\/_journal\.json)?|\/\d+_\w+\.sql)?)$/;
  expect(packed.filter((path) => !allowed.test(path))).toEqual([]);
  const built = packed.filter((path) => path.startsWith("dist/") && /\.\w+$/.test(path));
  expect(
    built.filter((path) => !/\.(js|d\.ts|sql)$|^dist\/wings\/serve\/page\/assets\//.test(path)),
  ).toEqual([]);
  const files = await readdir(join(root, "src"), { recursive: true });
  const statements = files.filter((path) => path.endsWith(".sql")).map((path) => `dist/${path}`);
  expect(statements.length).toBeGreaterThan(5);
  const wanted = ["src/bin.js", "dist/cli.js", "dist/index.d.ts", ...statements];
  expect(packed).toEqual(expect.arrayContaining(wanted));
});

async function house({ isEmpty = false } = {}) {
  const stack = new AsyncDisposableStack();
  const sandbox = stack.use(await openSandbox({ seed: "package", density: 0.1 }));
  const database = stack.use(await testDatabase({ isEmpty }));
  const env = environmentFor(sandbox, database, {
    PRODUCT_TYPES: productType,
    RECOVER_FROM: "none",
  });
  return { env, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test.concurrent("the installed program makes its tables, syncs and tells its status", async () => {
  await using at = await house({ isEmpty: true });
  const bin = join("node_modules", "bill-sync", "src", "bin.js");
  const env = { PATH: process.env["PATH"], ...at.env };
  expect((await inFolder([bin, "sync"], { env })).stdout).toMatch(/^complete, after /m);
  const { stdout } = await inFolder([bin, "status", "--json"], { env });
  expect(JSON.parse(stdout).ledgers).toMatchObject([{ productType, unread: [], openLost: [] }]);
});

test.concurrent("a program in JavaScript syncs, verifies, reconciles and reads every bill", async () => {
  await using at = await house();
  const source = stripTypeScriptTypes(await readFile(consumer, "utf8"));
  await writeFile(join(folder.path, "consumer.js"), source);
  const { stdout, stderr } = await inFolder(["consumer.js", JSON.stringify(at.env)]);
  expect(stderr).toBe("");
  const told = JSON.parse(stdout);
  expect(told).toMatchObject({
    billsBefore: [0],
    outcome: "complete",
    isSummed: true,
    stopped: "stopped",
    isStopped: true,
    isRefused: true,
    verified: "complete",
    breaks: 0,
    isFull: true,
  });
  expect(told.bills).toBeGreaterThan(50);
  expect(told.bills).toBe(told.billsStored);
  expect(told.compared).toBeGreaterThan(0);
});

test.concurrent("a program in TypeScript is checked against the package's own types", async () => {
  await copyFile(consumer, join(folder.path, "consumer.ts"));
  await writeFile(
    join(folder.path, "wrong.ts"),
    'import { openLedgers } from "bill-sync";\nvoid openLedgers({ DATABASE_URI: "" });\n',
  );
  const typescript = dirname(createRequire(import.meta.url).resolve("typescript/package.json"));
  const said = await inFolder([
    resolve(typescript, "bin", "tsc"),
    ...["--noEmit", "--strict", "--skipLibCheck", "--target", "esnext"],
    ...["--module", "nodenext", "--types", "node", "consumer.ts", "wrong.ts"],
  ]).then(
    () => "",
    (error: { stdout: string }) => error.stdout,
  );
  expect(said).toMatch(/^wrong\.ts.*'DATABASE_URI' does not exist in type[^\n]*\n$/);
});
