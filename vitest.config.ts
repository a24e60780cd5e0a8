import { defineConfig } from "vitest/config";
import LongestFirst from "./test/support/longest-first.ts";

const postgresTests = "test/**/*.pg.test.ts";

export default defineConfig({
  test: {
    pool: "forks",
    // They wait for servers and timers more than for a processor.
    maxWorkers: 5,
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: { name: "pure", include: ["test/**/*.test.ts"], exclude: [postgresTests] },
      },
      {
        extends: true,
        test: {
          name: "postgres",
          include: [postgresTests],
          globalSetup: "test/support/global-setup.ts",
        },
      },
    ],
  },
});
