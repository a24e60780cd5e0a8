import { globSync, readFileSync } from "node:fs";
import { dirname, normalize } from "node:path";
import { expect, test } from "vitest";

/** What each part of src may import beside itself: data flows one way. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  exchange: ["contract"],
  sync: ["contract", "exchange"],
  db: ["contract", "exchange", "sync"],
  reports: ["contract", "exchange", "sync", "db"],
  export: ["contract", "exchange", "sync", "db", "reports"],
  server: ["contract"],
  sandbox: ["contract", "server"],
  terminal: ["contract", "exchange", "sync"],
  commands: [
    "contract",
    "exchange",
    "sync",
    "db",
    "reports",
    "export",
    "sandbox",
    "server",
    "terminal",
  ],
};
/** Files of src itself that any part may import: each knows one thing and imports no part. */
const shared = ["clock", "errors", "printable", "secret"];
const wiring = ["config", "log", "nearest"];

const files = globSync("src/**/*.ts").map((path) => ({ path, text: readFileSync(path, "utf8") }));

/** The part of src that a path belongs to: its folder, or its name where it lies in src itself. */
const partOf = (path: string): string => path.split("/")[1]?.replace(/\.ts$/, "") ?? "";

const imports = files.flatMap(({ path, text }) =>
  [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map(([, target = ""]) => ({
    path,
    from: partOf(path),
    to: partOf(normalize(`${dirname(path)}/${target}`)),
  })),
);

test("every import follows the flow of data: contract, exchange, sync, db, reports", () => {
  expect(imports.length).toBeGreaterThan(100);
  const turned = imports.filter(({ from, to }) => {
    if (from === to || from === "cli") return false;
    if (shared.includes(to)) return false;
    if (wiring.includes(to)) return from !== "commands" && !wiring.includes(from);
    return !(allowed[from] ?? ["contract", "exchange"]).includes(to);
  });
  expect(turned).toEqual([]);
});

test("cli.ts alone reads the environment and ends the process", () => {
  const others = files.filter(
    ({ path, text }) => path !== "src/cli.ts" && /process\.(env|exit)\b/.test(text),
  );
  expect(others.map(({ path }) => path)).toEqual([]);
});

test("time and chance come from outside wherever a run is simulated", () => {
  const simulated = ["contract", "exchange", "sync"];
  const clocks = /Date\.now\(|new Date\(\)|performance\.now\(|Math\.random\(|setTimeout\(/;
  const own = files.filter(
    ({ path, text }) => simulated.includes(partOf(path)) && clocks.test(text),
  );
  expect(own.map(({ path }) => path)).toEqual([]);
});
