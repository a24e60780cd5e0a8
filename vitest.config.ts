import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/built-program.ts", "test/support/global-setup.ts"],
    pool: "forks",
    // A worker runs one file after the other: loading the program anew for each took 0.6 s of CPU.
    // So a file leaves no timer, no folder and no variable of the environment behind.
    isolate: false,
    // They wait for servers, timers and the rate limiter, too. Eight workers on two slow cores made what is timed fail.
    maxWorkers: 3 * availableParallelism(),
    // For what hangs, and not for what is slow: a test that takes 3 s takes a minute on a busy machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
  },
});
