import type { BillText } from "../../core/contract/bill.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { LedgerBill } from "./entry.ts";

export type Comparison = {
  readonly expected: number;
  readonly equal: number;
  readonly missing: readonly string[];
  /** Ids that are stored but in no ledger. */
  readonly extra: readonly string[];
  /** A line for each difference: bill id, field, the ledger's value and the stored one. */
  readonly different: readonly string[];
};

type Fields = readonly (readonly [wire: string, column: keyof BillText])[];

const fieldsOfBoth: Fields = [
  ["symbol", "symbol"],
  ["amount", "amount"],
  ["fee", "fee"],
  ["coin", "coin"],
  ["balance", "balance"],
];

/** The fields of a row, each with its column. Other fields are stored in `extra`. */
const classicFields: Fields = [
  ...fieldsOfBoth,
  ["billId", "billId"],
  ["feeByCoupon", "feeByCoupon"],
  ["businessType", "businessType"],
  ["cTime", "cTimeMs"],
];
const unifiedFields: Fields = [
  ...fieldsOfBoth,
  ["id", "billId"],
  ["type", "businessType"],
  ["ts", "cTimeMs"],
  ["positionType", "positionType"],
  ["positionAmount", "positionAmount"],
  ["positionBalance", "positionBalance"],
];

/**
 * Compares what was stored with the served ledger, letter for letter. The ledger's side are the
 * rows as they were sent: nothing that the program made of them is used.
 */
export function compareWithLedger(
  ledger: readonly LedgerBill[],
  stored: readonly BillText[],
  inside: { readonly from: EpochMs; readonly visibleAt: EpochMs },
): Comparison {
  const rest = new Map(stored.map((bill) => [bill.billId, bill]));
  const expected = ledger.filter(
    ({ cTime, visibleAt, broken }) =>
      cTime >= inside.from && visibleAt <= inside.visibleAt && broken === undefined,
  );
  const missing: string[] = [];
  const different: string[] = [];
  for (const { billId, row, restated, withdrawal } of expected) {
    const bill = rest.get(billId);
    rest.delete(billId);
    const served = restated !== undefined && restated.at <= inside.visibleAt ? restated.row : row;
    if (bill === undefined) missing.push(billId);
    else {
      // The row has no fee. Its record has one, which may not have been read yet.
      const { fee } = withdrawal?.record ?? {};
      const told = fee === bill.fee ? { fee } : {};
      different.push(...differences({ ...(served as Record<string, unknown>), ...told }, bill));
    }
  }
  const billIds = new Set(ledger.map(({ billId }) => billId));
  return {
    expected: expected.length,
    equal: expected.length - missing.length - new Set(different.map((d) => d.split(" ")[0])).size,
    missing,
    extra: [...rest.keys()].filter((billId) => !billIds.has(billId)),
    different,
  };
}

function differences(sentRow: Record<string, unknown>, bill: BillText): readonly string[] {
  const row = commonRow(sentRow);
  const isUnified = "ts" in row;
  const fields = isUnified ? unifiedFields : classicFields;
  const extra = JSON.parse(bill.extra ?? "{}", exactNumber) as Record<string, unknown>;
  const sent = canonical(unlisted(isUnified ? withoutKnownCategory(row) : row, fields));
  const stored = canonical(unlisted(extra, fields));
  // A value that its column cannot spell as it was sent is in `extra` under the field's own name.
  const wrong = fields
    .map(([wire, column]) => ({ wire, text: extra[wire] ?? bill[column] }))
    .filter(({ wire, text }) => (row[wire] ?? "") !== (text ?? ""))
    .map(({ wire, text }) => `${bill.billId} ${wire}: "${row[wire]}" is stored as "${text}"`);
  const filled = columns
    .filter((column) => bill[column] !== null && !fields.some(([, listed]) => listed === column))
    .map((column) => `${bill.billId} ${column}: was not sent and is stored as "${bill[column]}"`);
  return sent === stored
    ? [...wrong, ...filled]
    : [...wrong, ...filled, `${bill.billId} extra: ${sent} is stored as ${stored}`];
}

/** A row under the names of futures' rows, where it is of the spot or the funding wallet. */
function commonRow(sent: Record<string, unknown>): Record<string, unknown> {
  if (!("groupType" in sent)) return sent;
  const { groupType, businessType, type, size, fees, ...row } = sent;
  return {
    ...row,
    fee: row["fee"] ?? "0",
    ...(size === undefined
      ? { type: `${groupType}/${type}` }
      : { businessType: `${groupType}/${businessType}`, amount: size, fee: fees }),
  };
}

/** Columns that are empty for bills of accounts in one mode. */
const columns = ["feeByCoupon", "positionType", "positionAmount", "positionBalance"] as const;

const unlisted = (row: Record<string, unknown>, fields: Fields): Record<string, unknown> => {
  const listed = new Set(fields.map(([wire]) => wire));
  return Object.fromEntries(Object.entries(row).filter(([name]) => !listed.has(name)));
};

/** Leaves out the category, which the row's ledger implies, unless it is spelled differently. */
const withoutKnownCategory = ({
  category,
  ...row
}: Record<string, unknown>): Record<string, unknown> =>
  category === String(category).toUpperCase() ? row : { category, ...row };

/**
 * JSON with sorted keys, since the order of fields has no meaning, and with numbers digit by digit.
 */
function canonical(value: unknown): string {
  return JSON.stringify(JSON.parse(JSON.stringify(value), exactNumber), (_key, member) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

const exactNumber = (_key: string, value: unknown, { source }: { source: string }): unknown =>
  typeof value === "number" ? `number ${source}` : value;
