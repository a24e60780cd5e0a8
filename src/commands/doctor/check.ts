import { explained } from "../../db/database-errors.ts";
import { firstThrown, messageOf } from "../../errors.ts";

/** What a check found, and what to do about it. */
export type Check = {
  /** `warn`: everything works, but somebody should look. */
  readonly status: "ok" | "warn" | "FAIL";
  readonly name: string;
  readonly found: string;
  /** Absent if nothing is to be done, or if `found` says what to do. */
  readonly remedy?: string;
};

export type Tell = (check: Check) => void;

export const ok = (name: string, found: string): Check => ({ status: "ok", name, found });

/** A check that an error stopped. The messages of this program name the remedy. */
export const failed = (name: string, thrown: unknown): Check => ({
  status: "FAIL",
  name,
  found: messageOf(explained(firstThrown(thrown))),
});

/** Runs a check that may throw an error, or find nothing to check. */
export async function checked<Found extends Check | undefined>(
  name: string,
  check: () => Promise<Found>,
): Promise<Found | Check> {
  try {
    return await check();
  } catch (error) {
    return failed(name, error);
  }
}
