import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// One worker runs a file from start to end. If a long file begins last, the other processors wait
// for it. The list is in the order of what each took on two processors, the longest first.
const longest: readonly string[] = [
  "simulation.pg.test.ts",
  "page-browser.pg.test.ts",
  "secrets.pg.test.ts",
  "kill.pg.test.ts",
  "simulation-mutants.pg.test.ts",
  "operations-docs.pg.test.ts",
  "backup.pg.test.ts",
  "division.pg.test.ts",
  "lost-commits.pg.test.ts",
  "faulty-exchange.pg.test.ts",
  "page-money.pg.test.ts",
  "sync.pg.test.ts",
  "doctor.pg.test.ts",
  "accounts.pg.test.ts",
  "node-down.pg.test.ts",
  "verify.pg.test.ts",
  "simulation-command.pg.test.ts",
  "cli-verify.pg.test.ts",
  "roles.pg.test.ts",
  "cli-sync.pg.test.ts",
  "cli-export.pg.test.ts",
  "stored-days.pg.test.ts",
  "reconcile-changed.pg.test.ts",
  "booked-late.pg.test.ts",
  "account-kinds.pg.test.ts",
  "accepted-breaks.pg.test.ts",
  "key-proof.pg.test.ts",
  "metrics.pg.test.ts",
  "upgrade-kills.pg.test.ts",
  "address-limits.test.ts",
];

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = longest.indexOf(basename(moduleId));
  return place === -1 ? longest.length : place;
};

/** Begins with the longest test files, whatever a machine remembers of earlier runs. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}
