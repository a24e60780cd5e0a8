import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// A file is one worker's from start to end: one of these that begins last keeps the other
// processors waiting for it. In the order of what each took on two of them, the longest first.
const longest: readonly string[] = [
  "simulation.pg.test.ts",
  "secrets.pg.test.ts",
  "kill.pg.test.ts",
  "operations-docs.pg.test.ts",
  "doctor.pg.test.ts",
  "distance.pg.test.ts",
  "backup.pg.test.ts",
  "lost-commits.pg.test.ts",
  "sync.pg.test.ts",
  "cli-verify.pg.test.ts",
  "cli-export.pg.test.ts",
  "verify.pg.test.ts",
  "simulation-mutants.pg.test.ts",
  "simulation-command.pg.test.ts",
  "faulty-processes.pg.test.ts",
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
