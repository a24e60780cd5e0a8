import { secondMs } from "../../contract/time.ts";
import { type Database, inTransaction } from "../../db/connect.ts";
import { isOverdue } from "../../db/database-errors.ts";
import { readCountedStreams } from "../../db/ledger/bill-counts.ts";
import { findWrongTimes } from "../../db/ledger/stream-times.ts";
import type { Stream } from "../../sync/store.ts";
import { streamName } from "../../terminal/stream-names.ts";
import { type Check, ok } from "./check.ts";

const name = "times";
// Enough to compare some thousand accounts.
const compareMaxMs = 2 * secondMs;
const shownMax = 3;

const remedy = "reconcile --full stores them anew";

/**
 * Whether the stored times that status shows equal those of the windows. Undefined if nothing is
 * stored.
 */
export async function checkStoredTimes(db: Database): Promise<Check | undefined> {
  const accounts = new Set((await readCountedStreams(db)).map(({ account }) => account));
  if (accounts.size === 0) return undefined;
  const wrong: Stream[] = [];
  const overdueAt = performance.now() + compareMaxMs;
  for (const account of accounts) {
    const streams = await findInTime(db, account, overdueAt - performance.now());
    if (streams === undefined) {
      return ok(name, `not checked, there are too many windows to add up in passing; ${remedy}`);
    }
    wrong.push(...streams);
  }
  if (wrong.length === 0) return ok(name, "status shows the times of the windows that were read");
  const more = wrong.length > shownMax ? ` and ${wrong.length - shownMax} more` : "";
  const found =
    `what status shows of the time of ${wrong.slice(0, shownMax).map(streamName).join(", ")}${more} is not ` +
    "what the windows say: rows were changed by hand";
  return { status: "warn", name, found, remedy };
}

/** Undefined if comparing takes longer than the time left. */
async function findInTime(
  db: Database,
  account: string,
  leftMs: number,
): Promise<readonly Stream[] | undefined> {
  if (leftMs < 1) return undefined;
  const statementMaxMs = Math.ceil(leftMs);
  try {
    return await inTransaction(db, (tx) => findWrongTimes(tx, account), { statementMaxMs });
  } catch (error) {
    if (isOverdue(error)) return undefined;
    throw error;
  }
}
