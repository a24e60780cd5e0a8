import type { SchemaElement } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { decimalOf, unitsOf } from "../../lib/decimal.ts";
import { ReportableError } from "../../lib/errors.ts";
import { type Column, columns } from "./columns.ts";
import type { BillPages, Chunks, ExportedBill } from "./exported-bill.ts";

// The widest decimal that every reader supports: 20 digits before the point and 18 after it, as many as
// the finest coins have.
const precision = 38;
const scale = 18;
const unitsMax = 10n ** BigInt(precision);

const types = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } },
  money: {
    type: "FIXED_LEN_BYTE_ARRAY",
    type_length: 16,
    converted_type: "DECIMAL",
    precision,
    scale,
    logical_type: { type: "DECIMAL", precision, scale },
  },
  time: {
    type: "INT64",
    converted_type: "TIMESTAMP_MILLIS",
    logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MILLIS" },
  },
} as const satisfies Record<Column["kind"], Partial<SchemaElement>>;

const schema: SchemaElement[] = [
  { name: "bills", num_children: columns.length },
  ...columns.map(
    (column): SchemaElement => ({
      ...{ name: column.name, ...types[column.kind] },
      repetition_type: "OPTIONAL",
    }),
  ),
];

function cellOf(column: Column, bill: ExportedBill): string | bigint | null {
  if (column.kind === "time") return BigInt(column.read(bill));
  const value = column.read(bill);
  if (column.kind === "text" || value === null) return value;
  const units = unitsOf(decimalOf(value), scale);
  if (units !== undefined && units < unitsMax && units > -unitsMax) return units;
  throw new ReportableError(
    `bill ${bill.account}/${bill.productType} ${bill.billId}: ${column.name} ${value} does not fit ` +
      `DECIMAL(${precision}, ${scale}); use another format, or leave the bill out by --from and --to`,
  );
}

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
  const columnData = columns.map((column) => ({
    name: column.name,
    data: bills.map((bill) => cellOf(column, bill)),
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
