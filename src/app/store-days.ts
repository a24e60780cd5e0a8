import type { Database } from "../db/connect.ts";
import { findWrongDays, markWrongDays } from "../db/days/compare-days.ts";
import {
  type DaysProgress,
  type DirtyAccounts,
  refreshAllDays,
  type WalletDay,
} from "../db/days/refresh-days.ts";
import { printableLine } from "../printable.ts";
import { formatCount, formatCounted } from "../terminal/format.ts";

// Fewer days are stored before anybody would read a line about it.
const toldMin = 500;

/**
 * Stores the days that are not stored, or are not up to date. Reports progress if there are many.
 * After an update that introduces stored days, a million bills take some seven seconds of CPU. It
 * may be stopped at any time: the next run stores the rest.
 */
export async function storeDays(
  db: Database,
  signal: AbortSignal,
  notify: (message: string) => void,
  scope: DirtyAccounts = {},
): Promise<void> {
  let told = 0;
  const onProgress = ({ stored, of }: DaysProgress) => {
    if (of < toldMin || stored - told < toldMin) return;
    told = stored;
    notify(`stored ${formatCount(stored)} of ${formatCounted(of, "day")} for quick answers`);
  };
  await refreshAllDays(db, signal, onProgress, scope);
}

/** Corrects the stored days of these accounts. @returns the days that were wrong. */
export async function setDaysRight(
  db: Database,
  accounts: readonly string[],
  { signal, statementMaxMs }: { readonly signal: AbortSignal; readonly statementMaxMs: number },
): Promise<readonly WalletDay[]> {
  const wrong: WalletDay[] = [];
  for (const account of accounts) {
    const days = await findWrongDays(db, account, { statementMaxMs });
    if (days.length > 0) await markWrongDays(db, account, days);
    wrong.push(...days);
  }
  if (wrong.length > 0) await refreshAllDays(db, signal, undefined, { accounts });
  return wrong;
}

export const wrongDayText = ({ account, wallet, day }: WalletDay): string =>
  `${printableLine(`${account}/${wallet} ${day}`)}: the stored day did not agree with its ` +
  "bills; views compute it from the bills now";
