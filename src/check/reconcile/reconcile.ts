import { sql } from "drizzle-orm";
import { type ProductType, walletOf } from "../../core/contract/product-types.ts";
import {
  type Database,
  inTransaction,
  type Queryable,
  type Transaction,
} from "../../core/postgres/connect.ts";
import { sqlStateOf } from "../../core/postgres/database-errors.ts";
import { correctCounts } from "../../core/store/bill-counts.ts";
import type { Among } from "../../core/store/rejected-bills.ts";
import { type DifferingBalance, unsettledDifferences } from "../../core/store/wallet-balances.ts";
import { hourMs, minuteMs } from "../../lib/time.ts";
import {
  type Break,
  type BrokenSpan,
  readBreaks,
  readBrokenSpans,
  withWholeWallets,
} from "./breaks.ts";
import {
  type ChainRecord,
  type ChainStart,
  type ChainSummary,
  chainKey,
  chooseChanged,
  readChainRecords,
  summariesOf,
  writeChains,
} from "./chains.ts";
import { breaksOf, hasNewMismatch } from "./check-chain.ts";
import { type Coverage, readCoverage } from "./coverage.ts";
import {
  areLegsAmong,
  findBalanceBreaks,
  findLoanToValueBreaks,
  findLostTime,
  findRestatements,
  findTransferBreaks,
} from "./other-checks.ts";
import { type CheckedChains, checkChains } from "./read-chains.ts";
import { readStoredBreaks, recordBreaks } from "./record-breaks.ts";
import {
  areSameRules,
  isAnyUnlearned,
  learnRules,
  type RuleSummary,
  type Rules,
  readRules,
  ruleSummaries,
  writeRules,
} from "./rules.ts";
import { readUnexplained, type UnexplainedSum } from "./unexplained.ts";

export type { ChainSummary, RuleSummary, UnexplainedSum };

export type Reconciliation = {
  /** Whether all bills were checked; false where only those of an account that changed were. */
  readonly isFull: boolean;
  readonly chains: readonly ChainSummary[];
  readonly rules: readonly RuleSummary[];
  /** What bills of types that no rule fits leave unexplained, also in chains that this check did not look at. */
  readonly unexplained: readonly UnexplainedSum[];
  /** All open breaks, also those that this check did not look at. */
  readonly breaks: readonly Break[];
  /** What wallets hold that the newest bills do not say, in time that is not settled yet. */
  readonly unsettled: readonly UnsettledBalance[];
};

export type UnsettledBalance = DifferingBalance & { readonly account: string };

/** Generous: a whole check reads the ledger, which takes some five seconds a million bills. */
export const statementMaxMs = hourMs;
// Putting a page's bills in order may take a while, in which the database waits.
const idleMaxMs = 5 * minuteMs;
// Each round finds rules from what does not fit those of the round before.
const roundsMax = 8;
const attemptsMax = 5;

/**
 * Checks that the ledger adds up: every balance against the previous one, every record's figures against each
 * other. Stores the breaks, and the rules of what each category moves. Each account is checked as a whole, in a transaction of its own.
 * @param asked of which product types the result is.
 */
export async function reconcile(
  db: Database,
  asked: Among,
  { isFull }: { readonly isFull: boolean },
): Promise<Reconciliation> {
  const { accounts, productTypes } = withWholeWallets(asked);
  const names = new Set(accounts ?? (await readReconcilable(db)));
  const results: Reconciliation[] = [];
  const isAsked = (ledger: string) => ledger === "" || (productTypes?.includes(ledger) ?? true);
  for (const account of [...names].toSorted())
    results.push(await reconcileAccount(db, account, { isFull }));
  return {
    isFull: results.length === 0 ? isFull : results.every(({ isFull }) => isFull),
    chains: results.flatMap(({ chains }) => chains.filter(({ wallet }) => isAsked(wallet))),
    rules: results.flatMap(({ rules }) => rules.filter(({ productType }) => isAsked(productType))),
    unexplained: results.flatMap(({ unexplained }) =>
      unexplained.filter(({ wallet }) => isAsked(wallet)),
    ),
    breaks: results.flatMap(({ breaks }) => breaks.filter(({ ledger }) => isAsked(ledger))),
    unsettled: results.flatMap(({ unsettled }) =>
      unsettled.filter(({ wallet }) => isAsked(wallet)),
    ),
  };
}

/**
 * Reconciles, and once more if something was stored between.
 * @param heal reads broken time again, and says whether it stored anything. Default nothing is read again.
 * @param skipsFailed whether to leave out what was read again in vain within a day.
 */
export async function reconcileAndHeal(
  db: Database,
  among: Among,
  { isFull, skipsFailed }: { readonly isFull: boolean; readonly skipsFailed: boolean },
  heal?: (spans: readonly BrokenSpan[]) => Promise<boolean>,
): Promise<Reconciliation> {
  const first = await reconcile(db, among, { isFull });
  if (heal === undefined || first.breaks.length === 0) return first;
  const spans = await readBrokenSpans(db, among, { skipsFailed });
  if (spans.length === 0 || !(await heal(spans))) return first;
  return await reconcile(db, among, { isFull });
}

/** The accounts that have rows in any table that a check reads. */
async function readReconcilable(db: Queryable): Promise<readonly string[]> {
  const tables = ["ledger_breaks", "ltv_snapshots", "reconciled_chains", "ledgers"].map(
    (name) => sql`select account from ${sql.identifier(name)}`,
  );
  const { rows } = await db.execute<{ account: string }>(sql.join(tables, sql` union `));
  return rows.map(({ account }) => account);
}

/** Reconciles one account. A check of all its bills sets its ledgers' counts right. */
async function reconcileAccount(
  db: Database,
  account: string,
  options: { readonly isFull: boolean },
): Promise<Reconciliation> {
  const checked = await againAfterConflicts(() =>
    inTransaction(db, (tx) => checkAccount(tx, account, options), {
      isolation: "repeatable read",
      statementMaxMs,
      idleMaxMs,
    }),
  );
  if (checked.isFull)
    await inTransaction(db, (tx) => correctCounts(tx, account), { statementMaxMs });
  return checked;
}

/**
 * Begins the check again where what it writes was written since it began: by
 * another check of the account, or by a decision about its breaks. Nobody takes turns.
 */
async function againAfterConflicts<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (sqlStateOf(error) !== "40001" || attempt === attemptsMax) throw error;
    }
  }
}

async function checkAccount(
  tx: Transaction,
  account: string,
  { isFull }: { readonly isFull: boolean },
): Promise<Reconciliation> {
  // A rename waits for the check, or makes it begin anew. Writers of bills do not wait.
  await tx.execute(sql`select 1 from ledgers where account = ${account} for key share`);
  const context: Context = {
    tx,
    account,
    coverage: await readCoverage(tx, account),
    rules: await readRules(tx, account),
    records: await readChainRecords(tx, account),
  };
  let checked = (isFull ? undefined : await checkChanged(context)) ?? (await checkWhole(context));
  // A resolved break had contradicted the learned rules, whose evidence must be counted anew.
  if (!checked.isFull && (await storeFound(context, checked)) > 0)
    checked = await checkWhole(context);
  if (checked.isFull) await storeFound(context, checked);
  const breaks = await readBreaks(tx, { accounts: [account], productTypes: undefined });
  return {
    isFull: checked.isFull,
    chains: summariesOf(account, checked.chains, { ...context, ...checked, breaks }),
    rules: ruleSummaries(account, checked.rules.rules),
    unexplained: await readUnexplained(tx, account),
    breaks,
    unsettled: await findUnsettled(context, breaks),
  };
}

/** What a check knows before it begins. */
type Context = {
  readonly tx: Transaction;
  readonly account: string;
  readonly coverage: ReadonlyMap<string, Coverage>;
  readonly rules: Rules;
  readonly records: ReadonlyMap<string, ChainRecord>;
};

type Checked = CheckedChains & {
  readonly isFull: boolean;
  /** Where the check began in each chain; undefined where all bills were checked. */
  readonly starts: readonly ChainStart[] | undefined;
  readonly rules: Rules;
};

async function checkUnder(
  { tx, account, coverage, records }: Context,
  rules: Rules,
  starts: readonly ChainStart[] | undefined,
): Promise<Checked> {
  const checked = await checkChains(tx, account, { starts, rules, coverage, records });
  return { ...checked, isFull: starts === undefined, starts, rules };
}

/** @returns undefined where a whole check is needed: there is something to learn, or changes alone do not tell. */
async function checkChanged(context: Context): Promise<Checked | undefined> {
  const { tx, account, coverage, rules, records } = context;
  const starts = await chooseChanged(tx, account, records, coverage);
  if (starts === undefined) return undefined;
  const checked = await checkUnder(context, rules, starts);
  if (isAnyUnlearned(rules.rules, checked.tallies.all)) return undefined;
  return hasNewMismatch(checked.chains, await readStoredBreaks(tx, account)) ? undefined : checked;
}

async function checkWhole(context: Context): Promise<Checked> {
  let rules = context.rules;
  for (let round = 1; ; round++) {
    const checked = await checkUnder(context, rules, undefined);
    rules = { ...rules, rules: learnRules(checked.tallies.all) };
    if (areSameRules(rules.rules, checked.tallies.all) || round === roundsMax)
      return { ...checked, rules };
  }
}

/** The newest time of each wallet that was read, up to where no more bills come. */
const reconciledTimes = (coverage: ReadonlyMap<string, Coverage>) =>
  new Map(
    [...coverage].flatMap(([wallet, { read, reconciledThrough }]) => {
      const last = read.at(-1);
      if (last === undefined) return [];
      return [[wallet, { from: last.from, to: Math.min(last.to, reconciledThrough) }] as const];
    }),
  );

/** Without coins whose settled balance is a break already. */
async function findUnsettled(
  { tx, account, coverage }: Context,
  breaks: readonly Break[],
): Promise<readonly UnsettledBalance[]> {
  const told = new Set(
    breaks.flatMap(({ kind, ledger, coin, firstBadBill }) =>
      kind === "balance" && firstBadBill === null ? `${ledger} ${coin}` : [],
    ),
  );
  const found = await unsettledDifferences(tx, account, reconciledTimes(coverage));
  return found
    .filter(({ wallet, coin }) => !told.has(`${wallet} ${coin}`))
    .map((one) => ({ account, ...one }));
}

/** Stores what was found. @returns how many open breaks were not found again. */
async function storeFound(context: Context, checked: Checked): Promise<number> {
  const { tx, account, coverage, records } = context;
  const { chains, isFull, starts, tallies, rules } = checked;
  const areLegsCompared = areLegsAmong(tallies.all.map(({ businessType }) => businessType));
  const breaks = [
    ...chains.flatMap(breaksOf),
    ...(areLegsCompared ? await findTransferBreaks(tx, account) : []),
    ...(await findLoanToValueBreaks(tx, account)),
    ...(await findBalanceBreaks(tx, account, reconciledTimes(coverage))),
    ...(await findRestatements(tx, account)),
    ...(await findLostTime(tx, account)),
  ];
  const sinceOf = new Map(starts?.map(({ since, ...chain }) => [chainKey(chain), since]));
  const resolved = await recordBreaks(
    tx,
    account,
    breaks,
    ({ kind, ledger, coin, happenedAt, firstBadBill }) => {
      if (starts === undefined || coin === "" || firstBadBill === null) return true;
      if (kind === "transfer") return areLegsCompared;
      const since = sinceOf.get(chainKey({ wallet: walletOf(ledger as ProductType), coin }));
      return since !== undefined && happenedAt !== null && since < happenedAt.getTime();
    },
  );
  if (isFull) await writeRules(tx, account, rules.rules);
  await writeChains(tx, account, chains, { isFull, starts, records, coverage });
  return resolved;
}
