import { isRefused, messageOf } from "../../lib/errors.ts";
import { dayMs, type EpochMs } from "../../lib/time.ts";
import { isDemoProductType, isSpotOrFunding } from "../contract/product-types.ts";
import { recordAvailability } from "../store/accounts/account-states.ts";
import type { AccountState, NotAvailable } from "../words/account-state.ts";
import type { AccountDeps, LedgerDeps, LedgerRun } from "./ledger-run.ts";

/* Which of an account's product types its key may read. */

type Refused = Pick<NotAvailable, "productType" | "reason">;

/**
 * Leaves out what is not available to the key, and records it. A refusal counts once it is repeated, be it by a later run.
 * @param state what earlier runs have learned; false where every refusal is a failure, since the product types were named.
 * @returns also what is to be told of it: delisted products are told once.
 */
export async function leaveOutNotAvailable(
  deps: Pick<AccountDeps, "leased" | "exchangeNow">,
  ledgers: readonly LedgerRun[],
  state: Pick<AccountState, "notAvailable"> | false,
): Promise<{ readonly wanted: readonly LedgerRun[]; readonly notAvailable: readonly Refused[] }> {
  if (state === false) return { wanted: ledgers, notAvailable: [] };
  const before = state.notAvailable;
  const isNew = ({ ledger }: LedgerRun) =>
    before.every(({ productType }) => productType !== ledger.productType);
  await Promise.all(
    notAvailableOf(ledgers)
      .filter(isNew)
      .map((ledger) => ledger.probeAgain()),
  );
  const refused = notAvailableOf(ledgers);
  await recordNotAvailable(deps, ledgers, refused, before);
  return {
    wanted: ledgers.filter((ledger) => !refused.includes(ledger)),
    notAvailable: refused
      .filter((ledger) => isNew(ledger) || !isDemoProductType(ledger.ledger.productType))
      .map(refusalOf),
  };
}

const delistedForMs = 7 * dayMs;

/** Without delisted product types that were refused within a week: each was a request of every sync. */
export const withoutDelisted = (
  ledgers: readonly LedgerRun[],
  state: Pick<AccountState, "notAvailable"> | false,
  now: EpochMs,
): readonly LedgerRun[] =>
  ledgers.filter(
    ({ ledger: { productType }, hasAnswered }) =>
      hasAnswered ||
      state === false ||
      !isDemoProductType(productType) ||
      !state.notAvailable.some(
        (one) => one.productType === productType && now - one.askedAt < delistedForMs,
      ),
  );

/**
 * The ledgers that are not available to the key. They were never read, and the exchange serves other
 * ledgers. A key that may read no futures, or may no longer read what it read before, counts as failed instead.
 */
const notAvailableOf = (ledgers: readonly LedgerRun[]): readonly LedgerRun[] =>
  ledgers.every(
    ({ refusal, ledger }) => refusal !== undefined || isSpotOrFunding(ledger.productType),
  )
    ? []
    : ledgers.filter(({ refusal, isNeverRead }) => isRefused(refusal) && isNeverRead);

/** Fails the refused ledgers. Each refusal is reported once, with all product types that it concerns. */
export function failRefusedLedgers(
  { onProgress }: Pick<LedgerDeps, "onProgress">,
  ledgers: readonly LedgerRun[],
): void {
  const refused = ledgers.filter(({ refusal }) => refusal !== undefined);
  for (const ledger of refused) ledger.failAsRefused();
  const alike = Map.groupBy(refused, ({ refusal }) => messageOf(refusal));
  for (const [first, ...others] of alike.values()) {
    if (first === undefined) continue;
    const { ledger, refusal } = first;
    const also = others.map((other) => other.ledger.productType);
    onProgress({ ledger, event: "failed", error: refusal, also });
  }
}

const refusalOf = ({ ledger, refusal }: LedgerRun) => ({
  productType: ledger.productType,
  reason: messageOf(refusal),
});

async function recordNotAvailable(
  { leased, exchangeNow }: Pick<AccountDeps, "leased" | "exchangeNow">,
  ledgers: readonly LedgerRun[],
  notAvailable: readonly LedgerRun[],
  before: readonly NotAvailable[],
): Promise<void> {
  const answered = ledgers
    .filter(({ hasAnswered }) => hasAnswered)
    .map(({ ledger }) => ledger.productType)
    .filter((productType) => before.some((one) => one.productType === productType));
  if (answered.length === 0 && notAvailable.length === 0) return;
  const { store } = leased;
  await store.recordPlans(notAvailable.flatMap((ledger) => ledger.emptyPlan()));
  const refused = notAvailable.map(refusalOf);
  const told = { refused, answered, askedAt: exchangeNow() };
  await store.write((tx) => recordAvailability(tx, store.account, told));
}
