import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// A file is one worker's from start to end: one of these that begins last keeps the other
// processors waiting for it. In the order of what each takes on two idle ones, the longest first.
const longest: readonly string[] = [
  "secrets.pg.test.ts",
  "simulation.pg.test.ts",
  "simulation-mutants.pg.test.ts",
  "kill.pg.test.ts",
  "faulty-processes.pg.test.ts",
  "simulation-command.pg.test.ts",
  "operations-docs.pg.test.ts",
  "distance.pg.test.ts",
  "backup.pg.test.ts",
];

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = longest.indexOf(basename(moduleId));
  return place === -1 ? longest.length : place;
};

/** Begins with the longest test files, whatever earlier runs a machine remembers. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}
