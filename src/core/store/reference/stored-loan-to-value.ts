import { and, desc, eq, sql } from "drizzle-orm";
import { type EpochMs, isoTime } from "../../../lib/time.ts";
import { parseExactJson, sortedJson } from "../../contract/json.ts";
import type { LoanToValue } from "../../contract/loan-to-value.ts";
import type { Extra } from "../../contract/row.ts";
import type { Queryable, Transaction } from "../../postgres/connect.ts";
import { ltvCollateral, ltvDebts, ltvSnapshots } from "../../postgres/schema/records-schema.ts";
import { msOf, timeFrom } from "../../postgres/values.ts";

/** A risk unit's record at the exchange's time `readAt`. */
export type LoanToValueCommit = {
  readonly account: string;
  /** The risk unit that was asked for; undefined for the account's own. */
  readonly riskUnitId: string | undefined;
  readonly readAt: EpochMs;
  readonly record: LoanToValue;
};

/** How a record compares with earlier ones. `outdated`: it was not stored, since a newer one is stored already. */
export type LoanToValueChange = "first" | "changed" | "unchanged" | "outdated";

type RiskUnit = { readonly account: string; readonly unit: string };

/**
 * Stores a risk unit's record after the earlier ones. A record that is equal to the last one adds no
 * copy, but extends the time that the last one held. A record that is older than the last is left out.
 */
export async function commitLoanToValue(
  tx: Transaction,
  { account, riskUnitId = "", readAt, record }: LoanToValueCommit,
): Promise<LoanToValueChange> {
  const riskUnit = { account, unit: riskUnitId };
  const last = await readLastSnapshot(tx, riskUnit);
  if (last !== undefined && readAt < last.lastSeenAtMs) return "outdated";
  if (last !== undefined && sortedJson(last.record) === sortedJson(record)) {
    await tx.execute(sql`
      update ltv_snapshots
      set last_seen_at = ${isoTime(readAt)}
      where ${isOf(riskUnit, last.firstSeenAt)}
        and last_seen_at < ${isoTime(readAt)}`);
    return "unchanged";
  }
  // Of two records of one moment the first stays.
  if (last !== undefined && readAt === last.lastSeenAtMs) return "outdated";
  await insertSnapshot(tx, riskUnit, readAt, record);
  return last === undefined ? "first" : "changed";
}

const isOf = ({ account, unit }: RiskUnit, firstSeenAt: string) => sql`
      account = ${account}
      and risk_unit_id = ${unit}
      and first_seen_at = ${firstSeenAt}`;

async function insertSnapshot(
  tx: Transaction,
  { account, unit }: RiskUnit,
  readAt: EpochMs,
  { debts, collateral, subAccountUids, ...totals }: LoanToValue,
): Promise<void> {
  const key = { account, riskUnitId: unit, firstSeenAt: new Date(readAt) };
  const ofAll = { ...key, lastSeenAt: new Date(readAt), ...totals };
  const uids = subAccountUids && [...subAccountUids];
  await tx.insert(ltvSnapshots).values({ ...ofAll, subAccountUids: uids });
  if (debts.length > 0)
    await tx.insert(ltvDebts).values(debts.map((debt) => ({ ...key, ...debt })));
  if (collateral.length > 0)
    await tx.insert(ltvCollateral).values(collateral.map((coin) => ({ ...key, ...coin })));
}

type LastSnapshot = {
  readonly firstSeenAt: string;
  readonly lastSeenAtMs: number;
  /** As it was sent, letter for letter. */
  readonly record: LoanToValue;
};

/** A risk unit's newest record. The unit's id is empty for the account's own. */
export async function readLastSnapshot(
  tx: Queryable,
  riskUnit: RiskUnit,
): Promise<LastSnapshot | undefined> {
  const { ltv, subAccountUids, usdtBalance, unpaidUsdtAmount, firstSeenAt } = ltvSnapshots;
  const [row] = await tx
    .select({
      ...{ ltv, subAccountUids, usdtBalance, unpaidUsdtAmount, extra },
      firstSeenAtMs: sql<string>`${msOf(sql`first_seen_at`)}`,
      lastSeenAtMs: sql<string>`${msOf(sql`last_seen_at`)}`,
    })
    .from(ltvSnapshots)
    .where(
      and(eq(ltvSnapshots.account, riskUnit.account), eq(ltvSnapshots.riskUnitId, riskUnit.unit)),
    )
    .orderBy(desc(firstSeenAt))
    .limit(1);
  if (row === undefined) return undefined;
  const { firstSeenAtMs, lastSeenAtMs, ...totals } = row;
  const seenAt = isoTime(timeFrom(firstSeenAtMs));
  const { coin, unpaidQty, unpaidInterest } = ltvDebts;
  const debts = await tx
    .select({ coin, unpaidQty, unpaidInterest, extra })
    .from(ltvDebts)
    .where(isOf(riskUnit, seenAt))
    .orderBy(coin);
  const { price, amount, convertedUsdtAmount } = ltvCollateral;
  const collateral = await tx
    .select({ coin: ltvCollateral.coin, price, amount, convertedUsdtAmount, extra })
    .from(ltvCollateral)
    .where(isOf(riskUnit, seenAt))
    .orderBy(ltvCollateral.coin);
  return {
    firstSeenAt: seenAt,
    lastSeenAtMs: timeFrom(lastSeenAtMs),
    record: {
      ...asSent(totals),
      debts: debts.map(asSent),
      collateral: collateral.map(asSent),
    },
  };
}

// As text: the driver would parse it, and lose digits.
const extra = sql<string | null>`extra::text`;

type Stored<Row extends object> = Row & { readonly extra: string | null };

/** Restores the spelling of numbers that the columns do not keep: `extra` has them under their own names. */
function asSent<Row extends object>({ extra, ...row }: Stored<Row>): Row & { extra: Extra } {
  const others = extra === null ? null : (parseExactJson(extra) as NonNullable<Extra>);
  const respelled = Object.entries(others ?? {}).filter(([name]) => Object.hasOwn(row, name));
  return { ...row, ...Object.fromEntries(respelled), extra: others } as Row & { extra: Extra };
}
