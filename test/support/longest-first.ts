import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// One worker runs a file from start to end. If a long file begins last, the other processors wait
// for it. Those that wait for timers and servers are among those that compute, the longest of both first: where six
// waited at the same time, two processors had nothing to do.
const longest: readonly string[] = [
  "demo.pg.test.ts",
  "close.pg.test.ts",
  "node-down.pg.test.ts",
  "simulation.pg.test.ts",
  "distance.pg.test.ts",
  "secrets.pg.test.ts",
  "accounts.pg.test.ts",
  "page-browser.pg.test.ts",
  "one-account.pg.test.ts",
  "findings.pg.test.ts",
  "lost-commits.pg.test.ts",
  "reconcile-changed.pg.test.ts",
  "run-log.pg.test.ts",
  "kill.pg.test.ts",
  "operations-docs.pg.test.ts",
  "page-money.pg.test.ts",
  "fleet.pg.test.ts",
  "faulty-exchange.pg.test.ts",
  "sync.pg.test.ts",
  "cli-full-disk.pg.test.ts",
  "reconcile-seeds.pg.test.ts",
  "backup.pg.test.ts",
  "recovery.pg.test.ts",
  "address-limits.test.ts",
  "balances-now.pg.test.ts",
  "key-users.pg.test.ts",
  "export.pg.test.ts",
  "package.pg.test.ts",
  "cli-signals.pg.test.ts",
  "serve-command.pg.test.ts",
  "verify.pg.test.ts",
  "doctor.pg.test.ts",
];

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = longest.indexOf(basename(moduleId));
  return place === -1 ? longest.length : place;
};

/** Begins with the longest test files, whatever a machine remembers of earlier runs. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}
