import { sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { parseExactJson, sortedJson } from "../../contract/json.ts";
import {
  type Collateral,
  collateralFields,
  type Debt,
  debtFields,
  type LoanToValue,
} from "../../contract/loan-to-value.ts";
import type { Extra } from "../../contract/row.ts";
import { isoTime } from "../../contract/time.ts";
import type { LoanToValueChange, LoanToValueCommit } from "../../sync/store.ts";
import type { Queryable, Transaction } from "../connect.ts";
import { recordColumns } from "../schema/record-columns.ts";
import * as schema from "../schema/records-schema.ts";
import { msOf, textArray, timeFrom } from "../values.ts";

const totals = recordColumns(schema.ltvSnapshots, ["ltv", "usdtBalance", "unpaidUsdtAmount"]);
const debts = recordColumns(schema.ltvDebts, Object.keys(debtFields));
const collateral = recordColumns(schema.ltvCollateral, Object.keys(collateralFields));

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
  await insertSnapshot(tx, riskUnit, isoTime(readAt), record);
  return last === undefined ? "first" : "changed";
}

const isOf = ({ account, unit }: RiskUnit, firstSeenAt: string) => sql`
      account = ${account}
      and risk_unit_id = ${unit}
      and first_seen_at = ${firstSeenAt}`;

async function insertSnapshot(
  tx: Transaction,
  { account, unit }: RiskUnit,
  firstSeenAt: string,
  record: LoanToValue,
): Promise<void> {
  const uids = record.subAccountUids === null ? null : textArray(record.subAccountUids);
  await tx.execute(sql`
    insert into ltv_snapshots (
      account, risk_unit_id, first_seen_at, last_seen_at, sub_account_uids, ${totals.list}
    )
    select ${account}, ${unit}, ${firstSeenAt}, ${firstSeenAt}, ${uids}::text[], ${totals.list}
    from unnest(${totals.arraysOf([record])}) as sent (${totals.list})`);
  await tx.execute(sql`
    insert into ltv_debts (account, risk_unit_id, first_seen_at, ${debts.list})
    select ${account}, ${unit}, ${firstSeenAt}, ${debts.list}
    from unnest(${debts.arraysOf(record.debts)}) as sent (${debts.list})`);
  await tx.execute(sql`
    insert into ltv_collateral (account, risk_unit_id, first_seen_at, ${collateral.list})
    select ${account}, ${unit}, ${firstSeenAt}, ${collateral.list}
    from unnest(${collateral.arraysOf(record.collateral)}) as sent (${collateral.list})`);
}

export type LastSnapshot = {
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
  const { rows } = await tx.execute<
    Stored<Pick<LoanToValue, "ltv" | "subAccountUids" | "usdtBalance" | "unpaidUsdtAmount">> & {
      first_seen_at_ms: string;
      last_seen_at_ms: string;
    }
  >(sql`
    select
      ${msOf(sql`first_seen_at`)} as first_seen_at_ms,
      ${msOf(sql`last_seen_at`)} as last_seen_at_ms,
      sub_account_uids as "subAccountUids",
      ${totals.asFields}
    from ltv_snapshots
    where account = ${riskUnit.account}
      and risk_unit_id = ${riskUnit.unit}
    order by first_seen_at desc
    limit 1`);
  const [row] = rows;
  if (row === undefined) return undefined;
  const { first_seen_at_ms, last_seen_at_ms, ...sent } = row;
  const firstSeenAt = isoTime(timeFrom(first_seen_at_ms));
  const coinsOf = async <Row extends object>(table: PgTable, columns: typeof debts) => {
    const found = await tx.execute<Stored<Row>>(sql`
      select ${columns.asFields}
      from ${table}
      where ${isOf(riskUnit, firstSeenAt)}
      order by coin`);
    return found.rows.map(asSent);
  };
  return {
    firstSeenAt,
    lastSeenAtMs: timeFrom(last_seen_at_ms),
    record: {
      ...asSent(sent),
      debts: await coinsOf<Omit<Debt, "extra">>(schema.ltvDebts, debts),
      collateral: await coinsOf<Omit<Collateral, "extra">>(schema.ltvCollateral, collateral),
    },
  };
}

type Stored<Row extends object> = Row & { readonly extra: string | null };

/** Restores the spelling of numbers that the columns do not keep: `extra` has them under their own names. */
function asSent<Row extends object>({ extra, ...row }: Stored<Row>): Row & { extra: Extra } {
  const others = extra === null ? null : (parseExactJson(extra) as NonNullable<Extra>);
  const respelled = Object.entries(others ?? {}).filter(([name]) => Object.hasOwn(row, name));
  return { ...row, ...Object.fromEntries(respelled), extra: others } as Row & { extra: Extra };
}
