import { secondMs } from "../../contract/time.ts";
import { type Database, inTransaction } from "../../db/connect.ts";
import { findWrongTimes } from "../../ledger/refresh-stream-times.ts";
import type { Stream } from "../../sync/store.ts";
import { streamName } from "../../terminal/stream-names.ts";
import { type Check, ok } from "./check.ts";
import { lookInTime } from "./look-in-time.ts";

const name = "times";
// Enough to compare some thousand accounts.
const compareMaxMs = 2 * secondMs;
const shownMax = 3;

const remedy = "reconcile --full stores them again";

/** Whether the stored times that status shows equal those of the windows. */
export async function checkStoredTimes(
  db: Database,
  accounts: ReadonlySet<string>,
): Promise<Check> {
  const wrong = await lookInTime<string, Stream>(accounts, compareMaxMs, (account, limit) =>
    inTransaction(db, (tx) => findWrongTimes(tx, account), limit),
  );
  if (wrong === undefined) {
    return ok(name, `not checked: adding up so many windows takes too long here; ${remedy}`);
  }
  if (wrong.length === 0)
    return ok(name, "the times that status shows agree with the windows that were read");
  const more = wrong.length > shownMax ? ` and ${wrong.length - shownMax} more` : "";
  const found =
    `what status shows of the time of ${wrong.slice(0, shownMax).map(streamName).join(", ")}${more} is not ` +
    "what the windows say: rows were changed by hand";
  return { status: "warn", name, found, remedy };
}
