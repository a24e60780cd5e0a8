import { isDemoProductType } from "../core/contract/product-types.ts";
import type { EndedLedger } from "../core/sync/account-mode.ts";
import { type Ended, modeOf, type NotAvailable } from "../core/words/account-state.ts";
import { printableLine } from "../lib/printable.ts";
import { formatLength, formatMinute, ledgerNames } from "./text.ts";

// Remarks about an account's mode, and about product types that its key may not read.

/** Why a ledger ended: the exchange serves it to accounts of one mode alone. */
const becameText = ({ productType }: Pick<Ended, "productType">): string =>
  modeOf(productType) === "classic" ? "became unified" : "became classic";

/** Lines that say which of an account's ledgers have ended, and how far they were read. */
export const endedLines = (ended: readonly EndedLedger[]): readonly string[] =>
  [...Map.groupBy(ended, endedText)].map(
    ([text, alike]) => `${ledgerNames(alike.map(({ ledger }) => ledger))}: ${text}`,
  );

function endedText({ ledger, endedAt, through, unread }: EndedLedger): string {
  const read = through === undefined ? "" : `, read through ${formatMinute(through)}`;
  const rest =
    unread.length === 0
      ? ""
      : `; ${formatLength(unread)} are unread, and can be read only if the account is switched back`;
  return `ended ${formatMinute(endedAt)}: ${becameText(ledger)}${read}${rest}`;
}

/** A line for each reason why an account's key may not read product types. */
export function notAvailableLines(
  account: string,
  notAvailable: readonly Pick<NotAvailable, "productType" | "reason">[],
): readonly string[] {
  const byReason = Map.groupBy(notAvailable, ({ productType, reason }) =>
    isDemoProductType(productType) ? "delisted in August 2025" : reason,
  );
  return [...byReason].map(
    ([reason, types]) =>
      `${printableLine(account)}: not available to its key: ` +
      `${types.map(({ productType }) => productType).join(", ")}: ${printableLine(reason)}`,
  );
}
