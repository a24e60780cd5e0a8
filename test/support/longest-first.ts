import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// One worker runs a file from start to end. If a long file begins last, the other processors wait
// for it. The list is in the order of what each took on two processors, the longest first.
const longest: readonly string[] = [
  "secrets.pg.test.ts",
  "simulation.pg.test.ts",
  "distance.pg.test.ts",
  "operations-docs.pg.test.ts",
  "key-users.pg.test.ts",
  "page-browser.pg.test.ts",
  "address-limits.test.ts",
  "kill.pg.test.ts",
  "faulty-exchange.pg.test.ts",
  "backup.pg.test.ts",
  "division.pg.test.ts",
  "fleet.pg.test.ts",
  "cut-connections.pg.test.ts",
  "sync.pg.test.ts",
  "lost-commits.pg.test.ts",
  "mirror-door.pg.test.ts",
  "reconcile-changed.pg.test.ts",
  "journal-months.pg.test.ts",
  "upgrade-midway.pg.test.ts",
  "node-down.pg.test.ts",
  "cli-signals.pg.test.ts",
  "account-modes.pg.test.ts",
  "many-accounts.pg.test.ts",
  "accounts.pg.test.ts",
  "page-scale.pg.test.ts",
  "page.pg.test.ts",
  "clients.pg.test.ts",
  "cli-sync.pg.test.ts",
  "serve-command.pg.test.ts",
  "package.pg.test.ts",
  "cli-full-disk.pg.test.ts",
  "unified-sync.pg.test.ts",
  "verify.pg.test.ts",
  "export.pg.test.ts",
  "cli-only.pg.test.ts",
  "unified-verify.pg.test.ts",
  "hostile-names.pg.test.ts",
  "upgrade-kills.pg.test.ts",
  "account-keys.pg.test.ts",
  "account-kinds.pg.test.ts",
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
