import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { type CliEnd, type CliEnvironment, temporaryFolder } from "./cli.ts";

// The points at which a program can be killed: `kill-at.ts` counts them, and kills at one.

type KillPoints = {
  /** Runs the program to its end, so that its points are known. */
  readonly list: (preload: CliEnvironment) => Promise<CliEnd>;
  /** Runs it, killed at one point, and checks what follows. */
  readonly kill: (preload: CliEnvironment, point: string) => Promise<CliEnd>;
};

const killer = fileURLToPath(new URL("kill-at.ts", import.meta.url));
const compiled = fileURLToPath(new URL("../../node_modules/.cache/bill-sync", import.meta.url));
const killsEach = process.env["KILL_POINTS"] === "all";
const lanes = 3;
// A start costs 0.7 s of CPU; simulated processes die at every point. Nine did not notice a cursor that is stored before its rows.
const killsMax = 12;
// Work of a timer is not in every run, so not every point is reached again.
const reachedMin = 0.8;

/**
 * Kills one run after the other at its points, a few at the same time.
 * @returns how many were killed.
 */
export async function killAtPoints({ list, kill }: KillPoints): Promise<number> {
  const listed = await listPoints(list);
  const points = killsEach ? listed : spread(oneOfEachKind(listed), killsMax);
  let killed = 0;
  let next = 0;
  const lane = async () => {
    for (let point = points[next++]; point !== undefined; point = points[next++]) {
      const end = await kill(preload({ KILL_AT: point }), point);
      if (end.signal === "SIGKILL") killed += 1;
      else expect(end, point).toMatchObject({ code: 0 });
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  console.log(`killed at ${killed} of ${listed.length} points`);
  expect(killed).toBeGreaterThan(points.length * reachedMin);
  return killed;
}

async function listPoints(list: KillPoints["list"]): Promise<readonly string[]> {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "points.json");
  expect(await list(preload({ KILL_POINTS_FILE: file }))).toMatchObject({ code: 0 });
  return JSON.parse(await readFile(file, "utf8")) as string[];
}

// The killer is TypeScript, and loads pg: with the cache, no process has to compile them.
const preload = (others: CliEnvironment): CliEnvironment => ({
  NODE_OPTIONS: `--import ${killer}`,
  NODE_COMPILE_CACHE: compiled,
  ...others,
});

/**
 * For each statement that writes and each request, the point at which it is under way or answered,
 * and the points around a commit: for each kind, the one in the middle. The points in between leave
 * the same in the database.
 */
function oneOfEachKind(points: readonly string[]): string[] {
  const kinds = Map.groupBy(points.filter(leavesItsMark), (point) => point.replace(/ #\d+$/, ""));
  return [...kinds.values()].flatMap((same) => same.slice(same.length >> 1).slice(0, 1));
}

const spread = (points: readonly string[], max: number): readonly string[] => {
  const each = Math.max(1, points.length / max);
  return points.filter((_, index) => Math.floor(index / each) > Math.floor((index - 1) / each));
};

const leavesItsMark = (point: string): boolean =>
  /^(?:under way: (?! ?select )|answered: |before: commit )/.test(point);
