import { and, count, eq, getTableColumns, gte, inArray, lt, sql } from "drizzle-orm";
import { walletOf } from "../../core/contract/product-types.ts";
import { type Database, inTransaction, type Transaction } from "../../core/postgres/connect.ts";
import { breakDecisions, ledgerBreaks } from "../../core/postgres/schema/reconciliation-schema.ts";
import { onlyRow } from "../../core/postgres/values.ts";
import { withoutZeros } from "../../lib/decimal.ts";
import type { BreakKind, BrokenSpan, DecisionRow, FoundBreak, Row } from "./breaks.ts";

const identityOf = (one: Pick<Row, "ledger" | "coin" | "kind" | "anchor">): string =>
  JSON.stringify([one.ledger, one.coin, one.kind, one.anchor]);

/** All breaks of an account, whatever became of them. */
export const readStoredBreaks = (tx: Transaction, account: string): Promise<readonly Row[]> =>
  tx.select().from(ledgerBreaks).where(eq(ledgerBreaks.account, account));

// A statement has at most 65,535 parameters, and a row 18.
const rowsMax = 1_000;

const written = getTableColumns(ledgerBreaks);
const fromExcluded = Object.fromEntries(
  (
    [
      ...["happenedAt", "expected", "observed", "difference", "explanation", "lastSeenAt"],
      ...["firstBadBill", "firstBadProductType", "lastGoodBill", "lastGoodProductType"],
      ...["state", "resolvedAt"],
    ] as const
  ).map((name) => [name, sql`excluded.${sql.identifier(written[name as keyof Row].name)}`]),
);
/** What is known of an acceptance, as long as it holds. */
const ofAcceptance = Object.fromEntries(
  (["note", "acceptedBy", "acceptedAt"] as const).map((name) => [
    name,
    sql`case when excluded.state = 'accepted' then ${written[name]} end`,
  ]),
);

// Accepted lost time is found no more, and an accepted balance beside unread time becomes a break of another kind once it is read.
const staysAccepted: readonly string[] = ["lost", "unread"] satisfies BreakKind[];

/**
 * Stores the breaks that were found, and resolves those that were not found again. A known break keeps its
 * number and its first time. One that was accepted is reopened where its difference has changed. A new
 * one gets the next number of a sequence that all accounts share.
 * @param wouldBeFoundAgain whether the check would have found a break again.
 * @returns how many breaks were resolved.
 */
export async function recordBreaks(
  tx: Transaction,
  account: string,
  breaks: readonly FoundBreak[],
  wouldBeFoundAgain: (entry: Row) => boolean,
): Promise<number> {
  const rows = await readStoredBreaks(tx, account);
  const stored = new Map(rows.map((row) => [identityOf(row), row]));
  const news = breaks.filter((entry) => !stored.has(identityOf(entry)));
  const { rows: numbers } = await tx.execute<{ id: string }>(sql`
    select nextval('public.ledger_break_ids') as id
    from generate_series(1, ${news.length}::int)`);
  const reopened: Decided[] = [];
  const values = breaks.map(({ happenedAt, ...entry }) => {
    const before = stored.get(identityOf(entry));
    const isAccepted = before?.state === "accepted";
    const isSame =
      isAccepted && withoutZeros(before.difference ?? "") === withoutZeros(entry.difference ?? "");
    if (isAccepted && !isSame) {
      const was = before.difference ?? "unknown";
      const note = `its difference was ${was} when it was accepted`;
      reopened.push({ breakId: before.breakId, difference: entry.difference ?? null, note });
    }
    return {
      ...entry,
      account,
      breakId: before?.breakId ?? Number(onlyRow(numbers.splice(0, 1), "a new break's number").id),
      happenedAt: happenedAt == null ? null : new Date(happenedAt),
      firstSeenAt: sql`transaction_timestamp()`,
      lastSeenAt: sql`transaction_timestamp()`,
      state: isSame ? ("accepted" as const) : ("open" as const),
      resolvedAt: null,
    };
  });
  await insertDecisions(tx, account, reopened, { decision: "reopened", decidedBy: null });
  const { ledger, coin, kind, anchor } = ledgerBreaks;
  for (let from = 0; from < values.length; from += rowsMax) {
    await tx
      .insert(ledgerBreaks)
      .values(values.slice(from, from + rowsMax))
      .onConflictDoUpdate({
        target: [ledgerBreaks.account, ledger, coin, kind, anchor],
        set: { ...fromExcluded, ...ofAcceptance },
      });
  }
  const foundAgain = new Set(breaks.map(identityOf));
  const gone = rows.filter(
    (row) =>
      row.state !== "resolved" &&
      !(row.state === "accepted" && staysAccepted.includes(row.kind)) &&
      !foundAgain.has(identityOf(row)) &&
      wouldBeFoundAgain(row),
  );
  if (gone.length > 0) {
    const ids = gone.map(({ breakId }) => breakId);
    await tx
      .update(ledgerBreaks)
      .set({
        state: "resolved",
        resolvedAt: sql`transaction_timestamp()`,
        repairFailedAt: null,
      })
      .where(and(eq(ledgerBreaks.account, account), inArray(ledgerBreaks.breakId, ids)));
  }
  return gone.length;
}

type Decided = Pick<Row, "breakId" | "difference" | "note">;

async function insertDecisions(
  tx: Transaction,
  account: string,
  breaks: readonly Decided[],
  decision: Pick<DecisionRow, "decision" | "decidedBy">,
): Promise<void> {
  if (breaks.length === 0) return;
  const earlier = await tx
    .select({ breakId: breakDecisions.breakId, decisions: count() })
    .from(breakDecisions)
    .where(eq(breakDecisions.account, account))
    .groupBy(breakDecisions.breakId);
  const decisionsOf = new Map(earlier.map(({ breakId, decisions }) => [breakId, decisions]));
  await tx.insert(breakDecisions).values(
    breaks.map((entry) => ({
      ...entry,
      ...decision,
      account,
      place: (decisionsOf.get(entry.breakId) ?? 0) + 1,
      decidedAt: sql`transaction_timestamp()`,
    })),
  );
}

/** Somebody's decision about breaks. */
type Decision = {
  readonly breakIds: readonly number[];
  /** Accepts open breaks; false reopens them. */
  readonly isAccept: boolean;
  readonly note: string | null;
  /** Who decides. */
  readonly by: string | null;
};

/**
 * Accepts all of these open breaks, or none; or reopens all of these accepted ones, or none. The breaks stay stored.
 * @returns the numbers that no such break has; empty where all were changed.
 */
export function decideOnBreaks(
  db: Database,
  { breakIds, isAccept, note, by }: Decision,
): Promise<readonly number[]> {
  const decide = async (tx: Transaction) => {
    const areNamed = inArray(ledgerBreaks.breakId, [...breakIds]);
    const accounts = await tx
      .selectDistinct({ account: ledgerBreaks.account })
      .from(ledgerBreaks)
      .where(areNamed);
    const missing = new Set(breakIds);
    for (const { account } of accounts.toSorted((a, b) => (a.account < b.account ? -1 : 1))) {
      const isBefore = eq(ledgerBreaks.state, isAccept ? "open" : "accepted");
      // Waits for a check that may be about to resolve these breaks, and sees what it did.
      const changed = await tx
        .update(ledgerBreaks)
        .set({
          state: isAccept ? "accepted" : "open",
          note: isAccept ? note : null,
          acceptedAt: isAccept ? sql`transaction_timestamp()` : null,
          acceptedBy: isAccept ? by : null,
        })
        .where(and(areNamed, eq(ledgerBreaks.account, account), isBefore))
        .returning({ breakId: ledgerBreaks.breakId, difference: ledgerBreaks.difference });
      for (const { breakId } of changed) missing.delete(breakId);
      const decided = changed.map((entry) => ({ ...entry, note }));
      const decision = isAccept ? "accepted" : "reopened";
      await insertDecisions(tx, account, decided, { decision, decidedBy: by });
    }
    if (missing.size > 0) throw new NotFound(missing);
    return [];
  };
  return inTransaction(db, decide).catch((error: unknown) => {
    if (error instanceof NotFound) return [...error.breakIds];
    throw error;
  });
}

/** Rolls a decision back. */
class NotFound extends Error {
  readonly breakIds: ReadonlySet<number>;

  constructor(breakIds: ReadonlySet<number>) {
    super(`no such break: ${[...breakIds].join(", ")}`);
    this.breakIds = breakIds;
  }
}

/** Notes that a repair read this time again and wrote nothing, so that no finding asks for a repair. */
export async function markUnrepaired(
  db: Database,
  { account, productType, from, to }: BrokenSpan,
): Promise<void> {
  await db
    .update(ledgerBreaks)
    .set({ repairFailedAt: sql`statement_timestamp()` })
    .where(
      and(
        eq(ledgerBreaks.account, account),
        eq(ledgerBreaks.ledger, walletOf(productType)),
        eq(ledgerBreaks.state, "open"),
        gte(ledgerBreaks.happenedAt, new Date(from)),
        lt(ledgerBreaks.happenedAt, new Date(to)),
      ),
    );
}
