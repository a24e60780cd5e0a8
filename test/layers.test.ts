import { globSync, readFileSync } from "node:fs";
import { dirname, normalize } from "node:path";
import { expect, test } from "vitest";

/** The rooms of src, each above those that it may import. */
const floors = [
  "lib",
  "core/contract",
  "core/server",
  "core/exchange",
  "core/words",
  "core/views",
  "core/postgres",
  "core/store",
  "core/sync",
  "output",
  "accounts",
  "check",
  "books",
  "commands",
  "wings",
  "program",
  "cli",
  "index",
];

const files = globSync("src/**/*.ts").map((path) => ({ path, text: readFileSync(path, "utf8") }));

/** The room of a path: its folder in src, in core or in wings, or its own name if it lies in src itself. */
const roomOf = (path: string): string => {
  const [, room = "", part = ""] = path.split("/");
  return room === "core" || room === "wings" ? `${room}/${part}` : room.replace(/\.ts$/, "");
};
const floorOf = (room: string): number => floors.indexOf(room.replace(/^wings\/.*/, "wings"));

const imports = files.flatMap(({ path, text }) =>
  [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map(([, target = ""]) => ({
    from: path,
    to: normalize(`${dirname(path)}/${target}`),
  })),
);

test("every import goes from a floor to a lower one, and no wing knows another", () => {
  expect(imports.length).toBeGreaterThan(100);
  const turned = imports.filter(({ from, to }) => {
    const [room, target] = [roomOf(from), roomOf(to)];
    return room !== target && floorOf(target) >= floorOf(room);
  });
  expect(turned.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
});

test("a wing's libraries are loaded by it alone, and it is loaded where a command uses it", () => {
  const users = (library: RegExp) =>
    new Set(files.flatMap(({ path, text }) => (library.test(text) ? [roomOf(path)] : [])));
  expect(users(/from "(?:fastify|@fastify\/compress|prom-client)"/)).toEqual(
    new Set(["wings/serve"]),
  );
  expect(users(/from "pg-boss"/)).toEqual(new Set(["wings/fleet"]));
  expect(users(/from "\.\/wings\//)).toEqual(new Set());
});

/** As a stranger counts them: core is one room, and so are each wing and the files that lie in src itself. */
const roomFor = (path: string): string =>
  path.split("/").length === 2 ? "src" : roomOf(path).replace(/^core\/.*/, "core");

test("src has no room without a floor, and no loose file but what starts the program", () => {
  const loose = globSync("src/*", { withFileTypes: true }).filter((entry) => entry.isFile());
  expect(loose.map(({ name }) => name).toSorted()).toEqual([
    "bin.js",
    "cli.ts",
    "fast-start.js",
    "index.ts",
    "node-24.js",
    "program.ts",
  ]);
  expect(files.filter(({ path }) => floorOf(roomOf(path)) === -1)).toEqual([]);
  const rooms = new Set(files.map(({ path }) => roomFor(path)));
  const ways = imports.map(({ from, to }) => [roomFor(from), roomFor(to)] as const);
  const arrows = ways.flatMap(([from, to]) => (from === to ? [] : `${from} → ${to}`));
  console.info(`src: ${rooms.size} rooms, ${new Set(arrows).size} arrows between them`);
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

test("cli.ts alone reads the environment and ends the process", () => {
  const others = files.filter(
    ({ path, text }) => path !== "src/cli.ts" && /process\.(env|exit)\b/.test(text),
  );
  expect(others.map(({ path }) => path)).toEqual([]);
});

const simulated = ["core/contract", "core/exchange", "core/words", "core/sync"];

test("time and chance come from outside wherever a run is simulated", () => {
  const clocks = /Date\.now\(|new Date\(\)|performance\.now\(|Math\.random\(|setTimeout\(/;
  const own = files.filter(
    ({ path, text }) => simulated.includes(roomOf(path)) && clocks.test(text),
  );
  expect(own.map(({ path }) => path)).toEqual([]);
});

/** The files that a section of docs/how-it-works.md names: on its road, and beside it. */
function namedIn(title: string) {
  const [, section = ""] = readFileSync("docs/how-it-works.md", "utf8").split(`\n## ${title}\n`);
  const [road = "", beside = ""] = section.split(/\n## /)[0]?.split("\nBeside") ?? [];
  const filesIn = (text: string) =>
    [...text.matchAll(/`(src\/(?:[^`{]+\/)?)\{?([^`}]+)\}?(\.ts)`/g)].flatMap(
      ([, folder, names = "", ending]) =>
        names.split(",").map((name) => `${folder}${name}${ending}`),
    );
  const lines = filesIn(road).flatMap((path) => readFileSync(path, "utf8").trimEnd().split("\n"));
  console.info(`${title}: ${filesIn(road).length} files, ${lines.length} lines`);
  return { road: filesIn(road), beside: new Set(filesIn(beside)), lines: lines.length };
}

/** What a file needs of others when it runs. Of the commands that program.ts loads, each road has its own. */
const neededBy = (path: string): readonly string[] =>
  [
    ...readFileSync(path, "utf8").matchAll(
      /^(?:im|ex)port (?!type\b)[^"]*"(\.[^"]+)"|import\("(\.[^"]+)"\)/gm,
    ),
  ]
    .map(([, loaded, typed = ""]) => normalize(`${dirname(path)}/${loaded ?? typed}`))
    .filter((target) => path !== "src/program.ts" || !/^src\/(?:commands|wings)\//.test(target));

test.each([
  // It was 6,289 lines once, in 39 files.
  ["bill", 13, 2_500, /^src\/(?:core|accounts|check|commands)\//],
  ["break", 12, 2_800, /^src\/(?:check|commands|books)\//],
] as const)(
  "the road of one %s in docs/how-it-works.md is the true one, of at most %i files and %i lines",
  (subject, filesMax, linesMax, rooms) => {
    const { road, beside, lines } = namedIn(`The road of one ${subject}`);
    expect(road.length).toBeLessThanOrEqual(filesMax);
    expect(lines).toBeLessThanOrEqual(linesMax);
    const needed = new Set(road.flatMap(neededBy));
    const others = [...needed].filter((path) => rooms.test(path) && !road.includes(path));
    expect(beside).toEqual(new Set(others));
    // The client is made by session.ts, beside the road. A command is typed.
    const led = new Set([...needed, ...[...beside].flatMap(neededBy)]);
    const isTyped = (path: string) => /^src\/(?:program\.ts$|commands\/)/.test(path);
    expect(road.filter((path) => !isTyped(path) && !led.has(path))).toEqual([]);
  },
);

test("the road of one setting in docs/how-it-works.md has every file that names it, six of them to follow", () => {
  const { road, beside } = namedIn("The road of one setting");
  expect(road.length).toBeLessThanOrEqual(6);
  const named = files.filter(({ text }) =>
    /\b(?:SYNC_SETTLE_MINUTES|settleLagMs|settledUntil)\b/.test(text),
  );
  expect(new Set([...road, ...beside])).toEqual(new Set(named.map(({ path }) => path)));
});
