import { sql } from "drizzle-orm";
import pg from "pg";
import { hourMs } from "../contract/time.ts";
import { type Database, inTransaction, type Queryable, type Transaction } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { holdMeaning } from "../db/days/meaning-turns.ts";
import { type BillCount, readCountedStreams, recountBills } from "../ledger/bill-counts.ts";
import {
  type AccountScope,
  type BillsToCheck,
  billsToCheck,
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
import { chooseChanged, isWrongWhereBegun, readCheckedTo } from "./changed-chains.ts";
import { markChangedRules, readKnownRules } from "./changed-rules.ts";
import {
  findIdBreaks,
  findRollforwardBreaks,
  findTransferBreaks,
  findUnsigned,
  isAnyIdNew,
} from "./checks.ts";
import { collectCoverage } from "./covered-wallets.ts";
import { markDaysOfBreaks } from "./days-of-breaks.ts";
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
  /** The accounts of which all were. */
  readonly wholeAccounts: readonly string[];
  readonly chains: readonly ChainSummary[];
  readonly rules: readonly RuleSummary[];
  /** All open breaks, also those that this check did not look at. */
  readonly breaks: readonly Break[];
  /** The streams whose kept count was wrong. Only whole checks count. */
  readonly recounted: readonly BillCount[];
};

/** Generous: a whole check sorts the ledger, which takes some two seconds a million bills. */
export const statementMaxMs = hourMs;
// Each round finds orders and rules from what does not fit those of the round before.
const roundsMax = 8;

/**
 * Checks that the ledger adds up: every balance against the previous one, every day's sums against its
 * closing balance, every record's figures against each other. Stores the breaks, the rules of what each
 * category moves, and the order of bills where times and ids do not give it. Each account is checked in a
 * transaction of its own.
 */
export async function reconcile(
  db: Database,
  asked: Scope,
  { isFull }: { readonly isFull: boolean },
): Promise<Reconciliation> {
  const { accounts, productTypes } = withWholeWallets(asked);
  const names = new Set(accounts ?? (await withDatabaseErrors(() => readReconcilable(db))));
  const results: Reconciliation[] = [];
  for (const account of [...names].toSorted()) {
    results.push(await reconcileAccount(db, { account, productTypes }, { isFull }));
  }
  return {
    isWhole: results.length === 0 ? isFull : results.every(({ isWhole }) => isWhole),
    wholeAccounts: results.flatMap(({ wholeAccounts }) => wholeAccounts),
    chains: results.flatMap(({ chains }) => chains),
    rules: results.flatMap(({ rules }) => rules),
    breaks: results.flatMap(({ breaks }) => breaks),
    recounted: results.flatMap(({ recounted }) => recounted),
  };
}

/** The accounts that have rows in any table that a check reads. */
async function readReconcilable(db: Queryable): Promise<readonly string[]> {
  const tables = [
    "ledger_breaks",
    "ltv_snapshots",
    "reconciled_chains",
    "rejected_bills",
    "streams",
  ].map((name) => sql`select account from ${sql.identifier(name)}`);
  const { rows } = await db.execute<{ account: string }>(sql.join(tables, sql` union `));
  return rows.map(({ account }) => account);
}

/** Reconciles one account. After a check of all its bills, counts them. */
export async function reconcileAccount(
  db: Database,
  scope: AccountScope,
  options: { readonly isFull: boolean },
): Promise<Reconciliation> {
  const checked = await checkBills(db, scope, options);
  const recounted = checked.isWhole ? await recount(db, scope) : [];
  const breaks =
    recounted.length === 0
      ? checked.breaks
      : await withDatabaseErrors(() => readOpenBreaks(db, scope));
  return { ...checked, breaks, recounted };
}

/** Corrects the kept counts of the scope's streams. @returns those that were wrong. */
async function recount(
  db: Database,
  { account, productTypes }: AccountScope,
): Promise<readonly BillCount[]> {
  const counts: BillCount[] = [];
  for (const stream of await readCountedStreams(db, [account])) {
    if (productTypes?.includes(stream.productType) ?? true)
      counts.push(await recountBills(db, stream));
  }
  return counts.filter(({ counted, stored }) => counted !== stored);
}

function checkBills(
  db: Database,
  scope: AccountScope,
  { isFull }: { readonly isFull: boolean },
): Promise<Omit<Reconciliation, "recounted">> {
  return withDatabaseErrors(() =>
    againAfterConflicts(() =>
      inTransaction(
        db,
        async (tx) => {
          // JIT-compiling a statement took longer than running it, where the planner overestimated its cost.
          await tx.execute(sql`set local jit = off`);
          // Before the transaction's snapshot is taken, so that a second reconcile sees what the first stored.
          await holdMeaning(tx, scope.account);
          const rulesBefore = await readKnownRules(tx, scope);
          await collectCoverage(tx, scope);
          await forgetMovedBills(tx, scope);
          let checked = await checkOnce(tx, scope, { isFull });
          // A resolved break had contradicted the learned rules, whose evidence must be counted anew.
          if (!checked.isWhole && checked.resolved > 0) {
            checked = await checkOnce(tx, scope, { isFull: true });
          }
          await markChangedRules(tx, scope, rulesBefore);
          const { isWhole, chains } = checked;
          const breaks = await readOpenBreaks(tx, scope);
          const wholeAccounts = isWhole ? [scope.account] : [];
          return { isWhole, wholeAccounts, chains, rules: await readRules(tx, scope), breaks };
        },
        { isolation: "repeatable read", statementMaxMs },
      ),
    ),
  );
}

const attemptsMax = 5;

/** A page that is stored meanwhile may move the end of a day that the check reorders: the check begins again. */
async function againAfterConflicts<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const cause =
        error instanceof Error && error.cause instanceof pg.DatabaseError ? error.cause : error;
      const isConflict = cause instanceof pg.DatabaseError && cause.code === "40001";
      if (!isConflict || attempt === attemptsMax) throw error;
    }
  }
}

type Checked = {
  readonly isWhole: boolean;
  /** How many open breaks were not found again. */
  readonly resolved: number;
  readonly chains: readonly ChainSummary[];
};

async function checkOnce(
  tx: Transaction,
  scope: AccountScope,
  { isFull }: { readonly isFull: boolean },
): Promise<Checked> {
  const changed = isFull ? undefined : await checkChanged(tx, scope);
  const isWhole = changed === undefined;
  const checked = isWhole ? "all" : "changed";
  const bills = changed ?? (await checkWhole(tx, scope));
  const found: readonly FoundBreak[] = [
    ...(await findChainBreaks(tx, scope)),
    ...(await findRollforwardBreaks(tx, scope)),
    ...(await findIdBreaks(tx, scope, { bills, checked })),
    ...(await findTransferBreaks(tx, scope)),
    ...(await findLoanToValueBreaks(tx, scope)),
    ...(await findUnsigned(tx, scope)),
  ];
  const { foundIds, changedIds } = await recordFound(tx, scope, found);
  const resolvedIds = await resolveUnfound(tx, scope, { foundIds, checked });
  await markDaysOfBreaks(tx, scope, [...changedIds, ...resolvedIds]);
  return { isWhole, resolved: resolvedIds.length, chains: await writeChains(tx, scope, checked) };
}

/** @returns undefined where a whole check is needed: there is something to learn, or changes alone do not tell. */
async function checkChanged(
  tx: Transaction,
  scope: AccountScope,
): Promise<BillsToCheck | undefined> {
  const checkedTo = await readCheckedTo(tx, scope);
  if (checkedTo === undefined) return undefined;
  const chosen = await chooseChanged(tx, scope, checkedTo);
  if (await isWrongWhereBegun(tx, scope.account)) return undefined;
  const bills = await billsToCheck(tx, scope, chosen);
  await collectDaySums(tx, bills);
  if (await hasUnlearnedCategory(tx, scope)) return undefined;
  for (let round = 1; round <= roundsMax; round++) {
    await collectSuspects(tx, scope, bills);
    await collectResiduals(tx);
    if (!(await orderBills(tx, scope))) break;
  }
  await summariseChains(tx, scope, "changed");
  return (await isAnythingNew(tx, scope)) || (await isAnyIdNew(tx, scope)) ? undefined : bills;
}

async function checkWhole(tx: Transaction, scope: AccountScope): Promise<BillsToCheck> {
  let bills = await billsToCheck(tx, scope, "all");
  await collectDaySums(tx, bills);
  for (let round = 1; round <= roundsMax; round++) {
    await collectSuspects(tx, scope, bills);
    await collectResiduals(tx);
    // Before rules are learned: bills that are only out of order say nothing about them.
    if (await orderBills(tx, scope)) continue;
    if (!(await inferWalletRules(tx, scope))) break;
    bills = await billsToCheck(tx, scope, "all");
  }
  await summariseChains(tx, scope, "all");
  return bills;
}
