import type { StatementLimit } from "../../db/connect.ts";
import { isOverdue } from "../../db/database-errors.ts";

/**
 * Looks at one subject after the other, each with what is left of the time.
 * @returns what was found of all; undefined if the time did not suffice.
 */
export async function lookInTime<Subject, Found>(
  subjects: Iterable<Subject>,
  maxMs: number,
  look: (subject: Subject, limit: StatementLimit) => Promise<readonly Found[]>,
): Promise<readonly Found[] | undefined> {
  const found: Found[] = [];
  const overdueAt = performance.now() + maxMs;
  for (const subject of subjects) {
    const leftMs = overdueAt - performance.now();
    if (leftMs < 1) return undefined;
    try {
      found.push(...(await look(subject, { statementMaxMs: Math.ceil(leftMs) })));
    } catch (error) {
      if (isOverdue(error)) return undefined;
      throw error;
    }
  }
  return found;
}
