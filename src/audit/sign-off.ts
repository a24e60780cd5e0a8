import { type SQL, sql } from "drizzle-orm";
import { type Database, inTransaction, type Queryable, type Transaction } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { takeCheckTurns } from "../db/lease/check-turns.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { isOneOf } from "../db/sql/one-of.ts";
import { onlyRow } from "../db/sql/only-row.ts";
import { timeText } from "../db/sql/time-text.ts";
import { amountKinds, type Break, breakText } from "./breaks.ts";
import { type Scope, within, withWholeWallets } from "./scope.ts";

/** Somebody's decision about breaks. */
export type Decision = {
  readonly breakIds: readonly number[];
  readonly note: string | undefined;
  /** Who decides. */
  readonly by: string | undefined;
};

/** The accounts whose breaks are looked at; undefined for all. */
type Among = readonly string[] | undefined;

/**
 * Signs off all of these open breaks, or none. The breaks stay stored, with the note.
 * @returns the numbers that no open break has; empty where all were signed off.
 */
export const signOffBreaks = (
  db: Database,
  decision: Decision,
  among?: Among,
): Promise<readonly number[]> =>
  decide(db, decision, among, {
    from: "open",
    name: "signed off",
    changes: sql`
      state = 'explained',
      note = ${decision.note ?? null},
      signed_off_at = transaction_timestamp(),
      signed_off_by = ${decision.by ?? null}`,
  });

/**
 * Takes back all of these sign-offs, or none.
 * @returns the numbers that no break has that is signed off; empty where all were reopened.
 */
export const reopenBreaks = (
  db: Database,
  decision: Decision,
  among?: Among,
): Promise<readonly number[]> =>
  decide(db, decision, among, {
    from: "explained",
    name: "reopened",
    changes: sql`
      state = 'open',
      note = null,
      signed_off_at = null,
      signed_off_by = null`,
  });

type Change = {
  readonly from: "open" | "explained";
  readonly name: "signed off" | "reopened";
  readonly changes: SQL;
};

function decide(
  db: Database,
  decision: Decision,
  among: Among,
  change: Change,
): Promise<readonly number[]> {
  const { breakIds } = decision;
  return withDatabaseErrors(() =>
    inTransaction(db, async (tx) => {
      // Waits for a check that is under way, which may be about to resolve these breaks.
      const accounts = await accountsOf(tx, breakIds, among);
      await takeCheckTurns(tx, accounts);
      const missing = await withoutState(tx, breakIds, accounts, change.from);
      if (missing.length > 0) return missing;
      for (const account of accounts) await decideOn(tx, account, decision, change);
      return [];
    }),
  );
}

/** Each statement names one account, whose rows are on one node of a distributed database. */
async function decideOn(
  tx: Transaction,
  account: string,
  { breakIds, note, by }: Decision,
  { name, changes }: Change,
): Promise<void> {
  const areNamed = sql`account = ${account} and break_id = any(${numbers(breakIds)})`;
  await tx.execute(sql`
    insert into break_decisions (
      account, break_id, place, decision, decided_at, decided_by, note, difference
    )
    select
      account,
      break_id,
      (
        select count(*) + 1
        from break_decisions as earlier
        where earlier.account = ${account}
          and earlier.break_id = ledger_breaks.break_id
      ),
      ${name},
      transaction_timestamp(),
      ${by ?? null},
      ${note ?? null},
      difference
    from ledger_breaks
    where ${areNamed}`);
  await tx.execute(sql`
    update ledger_breaks
    set ${changes}
    where ${areNamed}`);
}

const numbers = (breakIds: readonly number[]): SQL =>
  sql`${textArray(breakIds.map(String))}::bigint[]`;

/** The accounts of these breaks. A break never changes its account. */
async function accountsOf(
  tx: Transaction,
  breakIds: readonly number[],
  among: Among,
): Promise<readonly string[]> {
  const { rows } = await tx.execute<{ account: string }>(sql`
    select distinct account
    from ledger_breaks
    where break_id = any(${numbers(breakIds)})
      and ${isOneOf(among)}`);
  return rows.map(({ account }) => account);
}

/** The numbers that no break of this state has. */
async function withoutState(
  tx: Transaction,
  breakIds: readonly number[],
  accounts: readonly string[],
  state: Change["from"],
): Promise<readonly number[]> {
  const { rows } = await tx.execute<{ break_id: string }>(sql`
    select break_id
    from ledger_breaks
    where state = ${state}
      and break_id = any(${numbers(breakIds)})
      and ${isOneOf(accounts)}`);
  const found = new Set(rows.map(({ break_id }) => Number(break_id)));
  return breakIds.filter((id) => !found.has(id));
}

/** How many breaks are signed off of which something still does not add up. */
export function countSignedOff(db: Queryable, scope: Scope): Promise<number> {
  const { accounts, productTypes } = withWholeWallets(scope);
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{ signed_off: number }>(sql`
      select count(*)::int as signed_off
      from ledger_breaks
      where state = 'explained'
        and kind = any(${textArray(amountKinds)}::text[])
        and ${within("account", accounts)}
        and (product_type = '' or ${within("product_type", productTypes)})`);
    return onlyRow(rows, "a count of breaks").signed_off;
  });
}

/** Whether a break is signed off and something of it still does not add up. */
export const isSignedOff = ({ state, kind }: Pick<Break, "state" | "kind">): boolean =>
  state === "explained" && amountKinds.includes(kind);

/** A sign-off or a reopening. */
export type PastDecision = {
  readonly decision: "signed off" | "reopened";
  /** ISO 8601. */
  readonly decidedAt: string;
  readonly decidedBy: string | null;
  readonly note: string | null;
};

export type ListedBreak = Break & {
  readonly signedOffAt: string | null;
  readonly signedOffBy: string | null;
  readonly resolvedAt: string | null;
  /** Oldest first. */
  readonly decisions: readonly PastDecision[];
};

/**
 * The breaks in the order of their numbers, as the last check left them.
 * @param isAll includes those that are signed off or resolved.
 */
export function listBreaks(
  db: Queryable,
  scope: Scope,
  { isAll }: { readonly isAll: boolean },
): Promise<readonly ListedBreak[]> {
  const { accounts, productTypes } = withWholeWallets(scope);
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<ListedBreak & { readonly breakId: string }>(sql`
      select
        ${breakText},
        ${timeText(sql`signed_off_at`)} as "signedOffAt",
        signed_off_by as "signedOffBy",
        ${timeText(sql`resolved_at`)} as "resolvedAt",
        (
          select
            coalesce(
              json_agg(
                json_build_object(
                  'decision', decision,
                  'decidedAt', ${timeText(sql`decided_at`)},
                  'decidedBy', decided_by,
                  'note', break_decisions.note
                )
                order by place
              ),
              '[]'
            )
          from break_decisions
          where break_decisions.account = ledger_breaks.account
            and break_decisions.break_id = ledger_breaks.break_id
            and ${within("account", accounts)}
        ) as decisions
      from ledger_breaks
      where (${isAll} or state = 'open')
        and ${within("account", accounts)}
        and (product_type = '' or ${within("product_type", productTypes)})
      order by ledger_breaks.break_id`);
    return rows.map((row) => ({ ...row, breakId: Number(row.breakId) }));
  });
}
