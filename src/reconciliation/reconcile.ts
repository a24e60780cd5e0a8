import { sql } from "drizzle-orm";
import { hourMs } from "../contract/time.ts";
import { type Database, inTransaction, type Transaction } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { holdMeaning } from "../db/days/mark-days.ts";
import {
  type BillsToCheck,
  billsToCheck,
  chooseChanged,
  type Scope,
  withWholeWallets,
} from "./bills-to-check.ts";
import {
  type Break,
  type FoundBreak,
  readOpenBreaks,
  recordFound,
  resolveUnfound,
} from "./breaks.ts";
import { findChainBreaks, isAnythingNew } from "./chain-breaks.ts";
import { collectDaySums, collectResiduals, collectSuspects } from "./chain-scan.ts";
import { markChangedRules, readKnownRules } from "./changed-rules.ts";
import {
  findIdBreaks,
  findRollforwardBreaks,
  findTransferBreaks,
  findUnsigned,
  isAnyIdNew,
} from "./checks.ts";
import { collectCoverage } from "./coverage.ts";
import { hasUnlearnedCategory, inferWalletRules } from "./infer-wallet-rules.ts";
import { findLoanToValueBreaks } from "./loan-to-value-breaks.ts";
import { forgetMovedBills, orderBills } from "./order.ts";
import {
  type ChainSummary,
  type RuleSummary,
  readRules,
  summariseChains,
  writeChains,
} from "./summary.ts";

export type Reconciliation = {
  /** Whether all bills were checked, or only those that changed. */
  readonly isWhole: boolean;
  readonly chains: readonly ChainSummary[];
  readonly rules: readonly RuleSummary[];
  /** All that are open, those that this check did not look at among them. */
  readonly breaks: readonly Break[];
};

/** A whole check sorts the ledger: some two seconds a million bills. */
export const statementMaxMs = hourMs;
// Orders and rules are found by what does not fit the ones before: each round may show more.
const roundsMax = 8;

/**
 * Holds the ledger against itself: every balance against the one before it, every day's sums
 * against its closing, records against their own identities. Writes down what each category was
 * found to move, the order of bills that their times and ids do not tell, and the breaks.
 */
export function reconcile(
  db: Database,
  asked: Scope,
  { isFull }: { readonly isFull: boolean },
): Promise<Reconciliation> {
  const scope = withWholeWallets(asked);
  return withDatabaseErrors(() =>
    inTransaction(
      db,
      async (tx) => {
        // Compiling a statement took longer than running it, where its cost was thought to be high.
        await tx.execute(sql`set local jit = off`);
        // Two at once take turns, each with a snapshot of its own.
        await holdMeaning(tx);
        const rulesBefore = await readKnownRules(tx);
        await collectCoverage(tx);
        await forgetMovedBills(tx);
        let checked = await checkOnce(tx, scope, { isFull });
        // What was resolved spoke against what was learned: that is counted anew.
        if (!checked.isWhole && checked.resolved > 0) {
          checked = await checkOnce(tx, scope, { isFull: true });
        }
        await markChangedRules(tx, rulesBefore);
        const { isWhole, chains } = checked;
        const breaks = await readOpenBreaks(tx, scope);
        return { isWhole, chains, rules: await readRules(tx, scope), breaks };
      },
      { isolation: "repeatable read", statementMaxMs },
    ),
  );
}

type Checked = {
  readonly isWhole: boolean;
  /** How many breaks it did not find again. */
  readonly resolved: number;
  readonly chains: readonly ChainSummary[];
};

async function checkOnce(
  tx: Transaction,
  scope: Scope,
  { isFull }: { readonly isFull: boolean },
): Promise<Checked> {
  const changed = isFull ? undefined : await checkChanged(tx, scope);
  const isWhole = changed === undefined;
  const checked = isWhole ? "all" : "changed";
  const bills = changed ?? (await checkWhole(tx, scope));
  const found: readonly FoundBreak[] = [
    ...(await findChainBreaks(tx)),
    ...(await findRollforwardBreaks(tx)),
    ...(await findIdBreaks(tx, { bills, checked })),
    ...(await findTransferBreaks(tx, scope)),
    ...(await findLoanToValueBreaks(tx, scope)),
    ...(await findUnsigned(tx, scope)),
  ];
  const foundIds = await recordFound(tx, found);
  const resolved = await resolveUnfound(tx, scope, { foundIds, checked });
  return { isWhole, resolved, chains: await writeChains(tx, scope, checked) };
}

/** @returns undefined where a whole check is needed: something shows that it has to learn about. */
async function checkChanged(tx: Transaction, scope: Scope): Promise<BillsToCheck | undefined> {
  await chooseChanged(tx, scope);
  const bills = await billsToCheck(tx, "changed");
  await collectDaySums(tx, bills);
  if (await hasUnlearnedCategory(tx)) return undefined;
  for (let round = 1; round <= roundsMax; round++) {
    await collectSuspects(tx, bills);
    await collectResiduals(tx);
    if (!(await orderBills(tx))) break;
  }
  await summariseChains(tx, "changed");
  return (await isAnythingNew(tx)) || (await isAnyIdNew(tx, bills)) ? undefined : bills;
}

async function checkWhole(tx: Transaction, scope: Scope): Promise<BillsToCheck> {
  let bills = await billsToCheck(tx, scope);
  await collectDaySums(tx, bills);
  for (let round = 1; round <= roundsMax; round++) {
    await collectSuspects(tx, bills);
    await collectResiduals(tx);
    // Before anything is learned: what is only out of order says nothing about the rules.
    if (await orderBills(tx)) continue;
    if (!(await inferWalletRules(tx))) break;
    bills = await billsToCheck(tx, scope);
  }
  await summariseChains(tx, "all");
  return bills;
}
