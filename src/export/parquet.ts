import type { SchemaElement } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { ReportableError } from "../errors.ts";
import { decimalOf, unitsOf } from "./decimal.ts";
import type { BillPages, Chunks, ExportedBill } from "./exported-bill.ts";

// The widest decimal that every reader supports: 20 digits before the point and 18 after it, as many as
// the finest coins have.
const precision = 38;
const scale = 18;
const unitsMax = 10n ** BigInt(precision);

type Money = "amount" | "fee" | "feeByCoupon" | "balance" | "positionAmount" | "positionBalance";
type Value = string | bigint | null;

const text = {
  type: "BYTE_ARRAY",
  converted_type: "UTF8",
  logical_type: { type: "STRING" },
} as const;
const money = {
  type: "FIXED_LEN_BYTE_ARRAY",
  type_length: 16,
  converted_type: "DECIMAL",
  precision,
  scale,
  logical_type: { type: "DECIMAL", precision, scale },
} as const;
const time = {
  type: "INT64",
  converted_type: "TIMESTAMP_MILLIS",
  logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MILLIS" },
} as const;
const required = { repetition_type: "REQUIRED" } as const;
const optional = { repetition_type: "OPTIONAL" } as const;

type Column = {
  readonly element: SchemaElement;
  readonly read: (bill: ExportedBill) => Value;
};

const columns: readonly Column[] = [
  { element: { name: "account", ...text, ...required }, read: ({ account }) => account },
  { element: { name: "product_type", ...text, ...required }, read: (bill) => bill.productType },
  { element: { name: "bill_id", ...text, ...required }, read: ({ billId }) => billId },
  { element: { name: "symbol", ...text, ...optional }, read: ({ symbol }) => symbol },
  { element: { name: "amount", ...money, ...required }, read: moneyOf("amount") },
  { element: { name: "fee", ...money, ...required }, read: moneyOf("fee") },
  { element: { name: "fee_by_coupon", ...money, ...optional }, read: moneyOf("feeByCoupon") },
  {
    element: { name: "business_type", ...text, ...required },
    read: (bill) => bill.businessType,
  },
  { element: { name: "coin", ...text, ...required }, read: ({ coin }) => coin },
  { element: { name: "balance", ...money, ...optional }, read: moneyOf("balance") },
  { element: { name: "c_time", ...time, ...required }, read: ({ cTime }) => BigInt(cTime) },
  { element: { name: "extra", ...text, ...optional }, read: ({ extra }) => extra },
  {
    element: { name: "position_type", ...text, ...optional },
    read: ({ positionType }) => positionType,
  },
  {
    element: { name: "position_amount", ...money, ...optional },
    read: moneyOf("positionAmount"),
  },
  {
    element: { name: "position_balance", ...money, ...optional },
    read: moneyOf("positionBalance"),
  },
  {
    element: { name: "ingested_at", ...time, ...required },
    read: ({ ingestedAt }) => BigInt(ingestedAt),
  },
  { element: { name: "category", ...text, ...required }, read: ({ category }) => category },
];

function moneyOf(field: Money): (bill: ExportedBill) => bigint | null {
  return (bill) => {
    const value = bill[field];
    if (value === null) return null;
    const units = unitsOf(decimalOf(value), scale);
    if (units !== undefined && units < unitsMax && units > -unitsMax) return units;
    throw new ReportableError(
      `bill ${bill.account}/${bill.productType} ${bill.billId}: ${field} ${value} does not fit ` +
        `DECIMAL(${precision}, ${scale}); use another format, or leave the bill out by --from and --to`,
    );
  };
}

const schema: SchemaElement[] = [
  { name: "bills", num_children: columns.length },
  ...columns.map(({ element }) => element),
];

// Rows in memory at a time: a file of a million bills has 50 groups.
const rowGroupRows = 20_000;

/**
 * The columns of `bills` and the category: money as DECIMAL(38, 18), times in UTC milliseconds, all else as text.
 * Compressed with Snappy.
 * @throws ReportableError that names the first bill whose number does not fit.
 */
export async function* toParquet(pages: BillPages): Chunks {
  const bytes = new ByteWriter();
  const writer = new ParquetWriter({ writer: bytes, schema, createdBy: "bill-sync" });
  let group: ExportedBill[] = [];
  for await (const bills of pages) {
    group.push(...bills);
    if (group.length < rowGroupRows) continue;
    writeGroup(writer, group);
    group = [];
    yield taken(bytes);
  }
  writeGroup(writer, group);
  await writer.finish();
  yield taken(bytes);
}

function writeGroup(writer: ParquetWriter, bills: readonly ExportedBill[]): void {
  const columnData = columns.map(({ element, read }) => ({
    name: element.name,
    data: bills.map(read),
  }));
  // Not awaited: a writer into memory writes synchronously.
  writer.write({ columnData, rowGroupSize: bills.length });
}

/** Takes the bytes written since the last call. The writer keeps counting from the file's beginning. */
function taken(bytes: ByteWriter): Uint8Array {
  const written = new Uint8Array(bytes.getBuffer());
  bytes.index = 0;
  return written;
}
