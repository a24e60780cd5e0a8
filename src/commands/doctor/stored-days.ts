import { secondMs } from "../../contract/time.ts";
import type { Database } from "../../db/connect.ts";
import { isOverdue } from "../../db/database-errors.ts";
import { findWrongDays } from "../../db/days/compare-days.ts";
import type { WalletDay } from "../../db/days/refresh-days.ts";
import { readCountedStreams } from "../../db/ledger/bill-counts.ts";
import { printableLine } from "../../printable.ts";
import { formatCounted, formatDuration } from "../../terminal/format.ts";
import { type Check, ok } from "./check.ts";

const name = "days";
// Enough to compare some hundred thousand bills on an idle machine.
const compareMaxMs = 2 * secondMs;
const shownMax = 3;

const remedy = "reconcile --full stores them anew";

/**
 * Whether the stored days that views read equal what the bills say. Undefined if nothing is stored.
 */
export async function checkStoredDays(db: Database): Promise<Check | undefined> {
  const accounts = new Set((await readCountedStreams(db)).map(({ account }) => account));
  if (accounts.size === 0) return undefined;
  const wrong: WalletDay[] = [];
  const overdueAt = performance.now() + compareMaxMs;
  for (const account of accounts) {
    const days = await findInTime(db, account, overdueAt - performance.now());
    if (days === undefined) {
      return ok(
        name,
        `not checked: adding the bills up takes more than ${formatDuration(compareMaxMs)}; reconcile --full does it`,
      );
    }
    wrong.push(...days);
  }
  if (wrong.length === 0) return ok(name, "what is stored of days is what their bills say");
  const shown = wrong
    .slice(0, shownMax)
    .map(({ account, wallet, day }) => printableLine(`${account}/${wallet} ${day}`));
  const more = wrong.length > shownMax ? ` and ${wrong.length - shownMax} more` : "";
  const found =
    `what is stored of ${formatCounted(wrong.length, "day")} is not what the bills say ` +
    `(${shown.join(", ")}${more}): rows were changed by hand`;
  return { status: "warn", name, found, remedy };
}

/** Undefined if comparing takes longer than the time left. */
async function findInTime(
  db: Database,
  account: string,
  leftMs: number,
): Promise<readonly WalletDay[] | undefined> {
  if (leftMs < 1) return undefined;
  try {
    return await findWrongDays(db, account, { statementMaxMs: Math.ceil(leftMs) });
  } catch (error) {
    if (isOverdue(error)) return undefined;
    throw error;
  }
}
