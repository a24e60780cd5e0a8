import { sentenceOf } from "../../src/check/health/finding-kinds.ts";
import { readFindings } from "../../src/check/health/findings.ts";
import type { Database } from "../../src/core/postgres/connect.ts";
import { dayMs, epochMs } from "../../src/lib/time.ts";

/**
 * The chains whose balances followed at the last check, and do not now, in sentences.
 * @param span of which time. Default all.
 */
export async function unproven(
  db: Database,
  accounts?: readonly string[],
  span: Partial<Record<"from" | "to", number | undefined>> = {},
): Promise<readonly string[]> {
  const [from, to] = [span.from, span.to].map((time) =>
    time === undefined ? undefined : epochMs(time),
  );
  const found = await readFindings(db, {
    ...{ accounts, span: { from, to } },
    now: epochMs(Date.now() + dayMs),
  });
  return found
    .filter(({ kind, breakIds }) => kind === "broken" && breakIds.length === 0)
    .map((finding) => sentenceOf(finding, epochMs(0)));
}
