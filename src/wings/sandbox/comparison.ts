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

/** The columns of a bill. Other fields of a row are stored in `extra`. */
const columns = [
  ...(["billId", "symbol", "amount", "fee", "feeByCoupon", "businessType", "coin"] as const),
  ...(["balance", "cTimeMs", "positionType", "positionAmount", "positionBalance"] as const),
] as const satisfies readonly (keyof BillText)[];

/** The columns of fields that have another name. */
const otherNames: Readonly<Record<string, string>> = {
  ...{ id: "billId", type: "businessType", size: "amount", fees: "fee" },
  ...{ cTime: "cTimeMs", ts: "cTimeMs" },
};

const columnOf = (field: string): (typeof columns)[number] | undefined =>
  columns.find((column) => column === (otherNames[field] ?? field));

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
  const row = withGroupedType(sentRow);
  const extra = JSON.parse(bill.extra ?? "{}", exactNumber) as Record<string, unknown>;
  const fields = new Map(Object.keys(row).map((field) => [columnOf(field), field]));
  const wrong = columns.flatMap((column) => {
    const field = fields.get(column) ?? column;
    // A value that its column cannot spell as it was sent is in `extra` under the field's own name.
    const text = extra[field] ?? bill[column] ?? "";
    const sent = row[field] ?? "";
    return sent === text ? [] : [`${bill.billId} ${field}: "${sent}" is stored as "${text}"`];
  });
  const [sent, stored] = [withoutKnownCategory(row), extra].map(withoutColumns).map(canonical);
  return sent === stored
    ? wrong
    : [...wrong, `${bill.billId} extra: ${sent} is stored as ${stored}`];
}

/** A row of the spot or the funding wallet with its type as it is stored, and with a fee. */
function withGroupedType(sent: Record<string, unknown>): Record<string, unknown> {
  if (!("groupType" in sent)) return sent;
  const { groupType, businessType, type = businessType, ...row } = sent;
  return { ...("fees" in row ? {} : { fee: "0" }), ...row, type: `${groupType}/${type}` };
}

const withoutColumns = (row: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(row).filter(([field]) => columnOf(field) === undefined));

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
