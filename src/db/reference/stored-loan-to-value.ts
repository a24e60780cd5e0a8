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
  { account, riskUnitId = "", takenAt, record }: LoanToValueCommit,
): Promise<LoanToValueChange> {
  const riskUnit = { account, unit: riskUnitId };
  const last = await readLastSnapshot(tx, riskUnit);
  if (last !== undefined && takenAt < last.heldUntilMs) return "outdated";
  if (last !== undefined && sortedJson(last.record) === sortedJson(record)) {
    await tx.execute(sql`
      update ltv_snapshots
      set held_until = ${isoTime(takenAt)}
      where ${isOf(riskUnit, last.takenAt)}
        and held_until < ${isoTime(takenAt)}`);
    return "unchanged";
  }
  // Of two records of one moment the first stays.
  if (last !== undefined && takenAt === last.heldUntilMs) return "outdated";
  await insertSnapshot(tx, riskUnit, isoTime(takenAt), record);
  return last === undefined ? "first" : "changed";
}

const isOf = ({ account, unit }: RiskUnit, takenAt: string) => sql`
      account = ${account}
      and risk_unit_id = ${unit}
      and taken_at = ${takenAt}`;

async function insertSnapshot(
  tx: Transaction,
  { account, unit }: RiskUnit,
  takenAt: string,
  record: LoanToValue,
): Promise<void> {
  const uids = record.subAccountUids === null ? null : textArray(record.subAccountUids);
  await tx.execute(sql`
    insert into ltv_snapshots (
      account, risk_unit_id, taken_at, held_until, sub_account_uids, ${totals.list}
    )
    select ${account}, ${unit}, ${takenAt}, ${takenAt}, ${uids}::text[], ${totals.list}
    from unnest(${totals.arraysOf([record])}) as sent (${totals.list})`);
  await tx.execute(sql`
    insert into ltv_debts (account, risk_unit_id, taken_at, ${debts.list})
    select ${account}, ${unit}, ${takenAt}, ${debts.list}
    from unnest(${debts.arraysOf(record.debts)}) as sent (${debts.list})`);
  await tx.execute(sql`
    insert into ltv_collateral (account, risk_unit_id, taken_at, ${collateral.list})
    select ${account}, ${unit}, ${takenAt}, ${collateral.list}
    from unnest(${collateral.arraysOf(record.collateral)}) as sent (${collateral.list})`);
}

export type LastSnapshot = {
  readonly takenAt: string;
  readonly heldUntilMs: number;
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
      taken_at_ms: string;
      held_until_ms: string;
    }
  >(sql`
    select
      ${msOf(sql`taken_at`)} as taken_at_ms,
      ${msOf(sql`held_until`)} as held_until_ms,
      sub_account_uids as "subAccountUids",
      ${totals.asFields}
    from ltv_snapshots
    where account = ${riskUnit.account}
      and risk_unit_id = ${riskUnit.unit}
    order by taken_at desc
    limit 1`);
  const [row] = rows;
  if (row === undefined) return undefined;
  const { taken_at_ms, held_until_ms, ...sent } = row;
  const takenAt = isoTime(timeFrom(taken_at_ms));
  const coinsOf = async <Row extends object>(table: PgTable, columns: typeof debts) => {
    const found = await tx.execute<Stored<Row>>(sql`
      select ${columns.asFields}
      from ${table}
      where ${isOf(riskUnit, takenAt)}
      order by coin`);
    return found.rows.map(asSent);
  };
  return {
    takenAt,
    heldUntilMs: timeFrom(held_until_ms),
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
