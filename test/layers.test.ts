import { globSync, readFileSync } from "node:fs";
import { dirname, normalize } from "node:path";
import { expect, test } from "vitest";

/** The rooms of src in the direction in which data flows. Each may import the rooms listed with it. */
const core = ["contract", "exchange", "sync"];
const stored = [...core, "sql", "db", "ledger"];
const judged = [...stored, "audit", "health", "export"];
const allowed: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  exchange: ["contract"],
  sync: ["contract", "exchange"],
  sql: ["contract"],
  db: [...core, "sql"],
  ledger: [...core, "sql", "db"],
  audit: stored,
  health: [...stored, "roster", "output"],
  export: stored,
  fleet: stored,
  "exchange-server": ["contract"],
  sandbox: ["contract", "exchange-server"],
  page: [...judged, "roster", "output"],
  report: [...judged, "roster", "output", "page"],
  metrics: [...stored, "roster", "output", "health"],
  serve: [
    ...stored,
    "roster",
    "health",
    "metrics",
    "exchange-server",
    "log",
    "page",
    "output",
    "export",
    "report",
  ],
  output: core,
  roster: [...stored, "output", "nearest"],
  log: ["roster"],
  nearest: [],
  commands: [
    ...[...judged, "metrics", "output", "roster", "nearest", "log"],
    ...["fleet", "sandbox", "serve", "page", "report"],
  ],
  clock: ["contract"],
  // The two entries: the process, and the library.
  cli: ["commands"],
  index: [...judged, "roster", "commands"],
};
/** Files in src itself that every room may import. */
const shared = [
  "as-typed",
  "clock",
  "decimal",
  "errors",
  "open-files",
  "printable",
  "secret",
  "version",
  "whole-file",
];

const files = globSync("src/**/*.ts").map((path) => ({ path, text: readFileSync(path, "utf8") }));

/** The room of a path: its folder, or its own name if it lies in src itself. */
const roomOf = (path: string): string => path.split("/")[1]?.replace(/\.ts$/, "") ?? "";

const imports = files.flatMap(({ path, text }) =>
  [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map(([, target = ""]) => ({
    from: path,
    to: normalize(`${dirname(path)}/${target}`),
  })),
);

test("every import between rooms is one that the direction of data allows", () => {
  expect(imports.length).toBeGreaterThan(100);
  const turned = imports.filter(({ from, to }) => {
    const [room, target] = [roomOf(from), roomOf(to)];
    if (room === target) return false;
    if (shared.includes(target)) return false;
    return !(allowed[room] ?? []).includes(target);
  });
  expect(turned).toEqual([]);
});

test("the sandbox exchange is loaded by the two commands that run it, and by nothing else", () => {
  const users = imports.filter(({ to }) => /^src\/sandbox\//.test(to));
  const outside = users.filter(({ from }) => !/^src\/sandbox\//.test(from));
  expect([...new Set(outside.map(({ from }) => from))].toSorted()).toEqual([
    "src/commands/demo.ts",
    "src/commands/sandbox.ts",
  ]);
});

test("what serve and the queue run is loaded by the commands that need it, and their libraries by nothing else", () => {
  // These load no library.
  const free = ["src/fleet/tasks.ts", "src/fleet/queue-status.ts"];
  const users = (room: string) =>
    imports.flatMap(({ from, to }) =>
      roomOf(to) === room && roomOf(from) !== room && !free.includes(to) ? [from] : [],
    );
  const loading = (library: string) =>
    files.flatMap(({ path, text }) => (text.includes(`from "${library}"`) ? [roomOf(path)] : []));
  expect(new Set(users("serve"))).toEqual(
    new Set(["src/commands/mirror-keys.ts", "src/commands/serve.ts"]),
  );
  expect(new Set(users("fleet"))).toEqual(new Set(["src/commands/worker.ts"]));
  expect(new Set(loading("fastify"))).toEqual(new Set(["serve"]));
  expect(new Set(loading("pg-boss"))).toEqual(new Set(["fleet"]));
});

test("no files import each other in a circle, types included", () => {
  const targets = Map.groupBy(imports, ({ from }) => from);
  const isDone = new Set<string>();
  const circles: string[] = [];
  const visit = (path: string, way: readonly string[]): void => {
    const place = way.indexOf(path);
    if (place !== -1) circles.push([...way.slice(place), path].join(" → "));
    if (place !== -1 || isDone.has(path)) return;
    for (const { to } of targets.get(path) ?? []) visit(to, [...way, path]);
    isDone.add(path);
  };
  for (const { path } of files) visit(path, []);
  expect(circles).toEqual([]);
});

test("no source file has more than 300 lines", () => {
  const long = files.filter(({ text }) => text.split("\n").length > 301);
  expect(long.map(({ path }) => path)).toEqual([]);
});

test("cli.ts alone reads the environment and ends the process", () => {
  const others = files.filter(
    ({ path, text }) => path !== "src/cli.ts" && /process\.(env|exit)\b/.test(text),
  );
  expect(others.map(({ path }) => path)).toEqual([]);
});

test("time and chance come from outside wherever a run is simulated", () => {
  const clocks = /Date\.now\(|new Date\(\)|performance\.now\(|Math\.random\(|setTimeout\(/;
  const own = files.filter(({ path, text }) => core.includes(roomOf(path)) && clocks.test(text));
  expect(own.map(({ path }) => path)).toEqual([]);
});
