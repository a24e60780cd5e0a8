import { defineConfig } from "vitest/config";

const postgresTests = "test/**/*.pg.test.ts";

export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: 3,
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
