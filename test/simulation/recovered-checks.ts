import type { BillText } from "../../src/core/contract/bill.ts";
import { isUnified, type ProductType } from "../../src/core/contract/product-types.ts";
import { asPrinted } from "../../src/core/contract/scalars.ts";
import { taxTypes } from "../../src/core/contract/tax-records.ts";
import type { AccountReport } from "../../src/core/sync/account-report.ts";
import { dayMs, epochMs } from "../../src/lib/time.ts";
import type { LedgerBill } from "../../src/wings/sandbox/entry.ts";
import type { Run } from "./sync.ts";
import type { LedgerTables, Tables } from "./tables.ts";
import { covers, seams, timeText } from "./time-checks.ts";
import { recoverFromOf, type World } from "./world.ts";

/**
 * What is stored of tax records: nothing where they differ from the bills; else each bill of recovered time, once, with
 * what the record has of it; and never in the place of a bill that a page served.
 */
export function recoveredFaults(
  { history, ledger, committed }: World,
  productType: ProductType,
  { bills, rejected, spans }: LedgerTables,
): { readonly count: number; readonly wrong: readonly string[] } {
  const stored = new Map(bills.map((bill) => [bill.billId, bill]));
  const rows = bills.filter(({ source }) => source === "tax-records");
  const recovered = spans.filter(({ state }) => state === "recovered");
  const { versions } = committed.of(productType);
  const isBelieved = history.records?.kind === "equal";
  const older = ledger.bills(productType).filter(({ cTime }) => covers(recovered, cTime));
  const isRejected = ({ billId }: LedgerBill) => rejected.some((row) => row.includes(billId));
  const wrong = [
    ...(isBelieved ? [] : rows.map(({ billId }) => `${billId} is of records that are wrong`)),
    ...(isBelieved || recovered.length === 0 ? [] : ["time is recovered of wrong records"]),
    ...rows
      .filter(({ billId }) => versions.has(billId))
      .map(({ billId }) => `${billId} was served by a page, and is stored as a record`),
    ...rows.flatMap((row) => differing(row, ledger.bill(productType, row.billId), productType)),
    ...older
      .filter((bill) => !stored.has(bill.billId) && !isRejected(bill))
      .map(({ billId, cTime }) => `${billId} of recovered ${timeText(cTime)} is not stored`),
  ];
  return { count: rows.length + older.length, wrong };
}

/** In what a stored record differs from its bill. */
function differing(
  row: BillText,
  bill: LedgerBill | undefined,
  productType: ProductType,
): readonly string[] {
  if (bill === undefined) return [`${row.billId} is in no ledger`];
  const wire = Object(bill.restated?.row ?? bill.row) as Record<string, unknown>;
  const decimal = (value: unknown) => (value ? asPrinted(String(value)) : null);
  const expected = {
    cTimeMs: String(bill.cTime),
    coin: bill.coin,
    businessType: taxTypes[bill.businessType] ?? bill.businessType,
    amount: decimal(wire["amount"] ?? wire["size"]),
    fee: decimal(wire["fee"] ?? wire["fees"]),
    // The records of a classic account's futures have none.
    balance: isUnified(productType) || productType === "SPOT" ? decimal(wire["balance"]) : null,
  };
  return Object.entries(expected)
    .filter(([name, value]) => row[name as keyof BillText] !== value)
    .map(([name, value]) => {
      return `${row.billId} ${name}: ${value} is stored as ${row[name as keyof BillText]}`;
    });
}

// The records of a unified account reach back 365 days.
const unifiedReachMs = 365 * dayMs;

/** A run in which nothing went wrong has recovered all older time that was wanted, or says why it did not. */
export function checkReached(
  { history, verdicts, account }: World,
  { name, isFaultless, endedAt }: Run,
  report: AccountReport,
  after: Tables,
): void {
  const wanted = recoverFromOf(history);
  if (!isFaultless || wanted === undefined) return;
  for (const { ledger, partlyRecovered, notRecoveredReason, error } of report.recovery ?? []) {
    if (notRecoveredReason !== undefined || error !== undefined) continue;
    const { productType } = ledger;
    if (!account.productTypes.includes(productType)) continue;
    const named = partlyRecovered.map((at) => ({ from: at, to: epochMs(at + 1) }));
    const { spans } = after[productType];
    const from = isUnified(productType) ? Math.max(wanted, endedAt - unifiedReachMs) : wanted;
    const first = Math.min(...[...spans, ...named].map((span) => span.from));
    verdicts.check("recovered", 1, [
      ...seams([...spans, ...named]).map((seam) => `${name}: ${productType} ${seam}`),
      ...(first <= from
        ? []
        : [
            `${name}: ${productType} is recovered from ${timeText(first)} on, wanted ${timeText(from)}`,
          ]),
    ]);
  }
}
