import { secondMs } from "../../contract/time.ts";
import type { Database } from "../../db/connect.ts";
import { findDifferingDays } from "../../ledger/differing-days.ts";
import { formatCounted, formatDuration } from "../../output/format.ts";
import { printableLine } from "../../printable.ts";
import { type Check, ok } from "./check.ts";
import { lookInTime } from "./look-in-time.ts";

const name = "days";
// Enough to compare some hundred thousand bills on an idle machine.
const compareMaxMs = 2 * secondMs;
const shownMax = 3;

const remedy = "reconcile --full stores them again";

/** Whether the stored days that views read equal what the bills say. */
export async function checkStoredDays(db: Database, accounts: ReadonlySet<string>): Promise<Check> {
  const wrong = await lookInTime(accounts, compareMaxMs, (account, limit) =>
    findDifferingDays(db, account, limit),
  );
  if (wrong === undefined) {
    return ok(
      name,
      `not checked: adding the bills up takes more than ${formatDuration(compareMaxMs)}; reconcile --full does it`,
    );
  }
  if (wrong.length === 0) return ok(name, "the stored days agree with their bills");
  const shown = wrong
    .slice(0, shownMax)
    .map(({ account, wallet, coin, day }) => printableLine(`${account}/${wallet} ${coin} ${day}`));
  const more = wrong.length > shownMax ? ` and ${wrong.length - shownMax} more` : "";
  const found =
    `${formatCounted(wrong.length, "stored day")} ${wrong.length === 1 ? "does" : "do"} not ` +
    `agree with the bills ` +
    `(${shown.join(", ")}${more}): rows were changed by hand`;
  return { status: "warn", name, found, remedy };
}
