import type { Account } from "../accounts/account.ts";
import type { BrokenSpan } from "../check/reconcile/breaks.ts";
import { markUnrepaired } from "../check/reconcile/record-breaks.ts";
import { readAgain, spanAround } from "../check/verify/read-again.ts";
import { isRepaired, repairedIn } from "../check/verify/verify.ts";
import type { Database } from "../core/postgres/connect.ts";
import { readExchangeTime } from "../core/store/known-time.ts";
import { horizonAt } from "../core/words/plan.ts";
import { type EpochMs, isoTime } from "../lib/time.ts";
import { formatLength, ledgerName } from "../output/text.ts";
import {
  type AccountVerification,
  type CompareDeps,
  compareAccount,
  leftLines,
  remarksOf,
} from "./compare-account.ts";
import { healedText } from "./sync-result.ts";

/** Why time cannot be read again; undefined where it can. */
function whyNot(
  accounts: readonly Account[],
  { account, productType, from, to }: BrokenSpan,
  now: EpochMs,
): string | undefined {
  if (to <= horizonAt(now)) return "is older than the exchange's 90 days";
  if (from >= now) return "is later than the exchange's clock";
  const isConfigured = accounts.some(
    ({ name, productTypes }) => name === account && productTypes.includes(productType),
  );
  return isConfigured ? undefined : "is not configured";
}

/** A line for each of these spans that cannot be read again. */
export async function unreadableLines(
  db: Database,
  accounts: readonly Account[],
  spans: readonly BrokenSpan[],
): Promise<readonly string[]> {
  const now = await readExchangeTime(db);
  return spans.flatMap((span) => {
    const why = whyNot(accounts, span, now);
    const { from, to } = span;
    return why === undefined
      ? []
      : [`${ledgerName(span)} ${isoTime(from)} to ${isoTime(to)} ${why}: it cannot be read again`];
  });
}

/**
 * Reads broken time of an account again, and stores what differs. Notes where nothing did, so that no finding asks for it
 * again. Never throws for what the exchange does: the report has the error.
 */
export async function healAccount(
  deps: CompareDeps,
  configured: Account,
  broken: readonly BrokenSpan[],
): Promise<AccountVerification> {
  const { name } = configured;
  const { db } = deps;
  const now = await readExchangeTime(db);
  const spans = broken.filter(
    (span) => span.account === name && whyNot([configured], span, now) === undefined,
  );
  const spansOf = Map.groupBy(spans, ({ productType }) => productType);
  if (spansOf.size === 0) return { account: name, ledgers: [], error: undefined };
  const account = { ...configured, productTypes: [...spansOf.keys()] };
  const healed = await compareAccount(deps, account, {
    repair: true,
    spanOf: (productType) => spanAround(productType, spansOf.get(productType) ?? []),
    read: (comparing, ledgers) =>
      Promise.all(
        ledgers.map((one) => readAgain(comparing, one, spansOf.get(one.ledger.productType) ?? [])),
      ),
  });
  for (const { ledger, error, differences } of healed.ledgers) {
    if (error !== undefined) continue;
    const times = differences
      .filter(isRepaired)
      .flatMap((one) => ("cTime" in one ? one.cTime : []));
    for (const span of spansOf.get(ledger.productType) ?? [])
      if (!times.some((time) => time >= span.from && time < span.to))
        await markUnrepaired(db, span);
  }
  return healed;
}

/** What was stored, and what is left. */
export const healedLines = ({ ledgers, ...healed }: AccountVerification): readonly string[] => [
  ...ledgers.flatMap((ledger) => {
    const name = ledgerName(ledger.ledger);
    const left = leftLines({ accounts: [{ ...healed, ledgers: [ledger] }] });
    const nothing = `${name}: ${formatLength(ledger.span)} read again, nothing to store`;
    return [
      repairedIn([ledger]) > 0 ? healedText(ledger) : nothing,
      ...left.map((line) => `${name}: ${line}`),
    ];
  }),
  ...remarksOf({ accounts: [{ ...healed, ledgers }] }),
];
