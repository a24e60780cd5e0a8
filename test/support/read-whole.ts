import type { ReadReachable } from "../../src/db/distribution/reachable.ts";

/** Reads all accounts or none, where a test has no node that may be down. */
export const readWhole: ReadReachable = async (read) => ({
  result: await read(undefined),
  unreachable: [],
});
