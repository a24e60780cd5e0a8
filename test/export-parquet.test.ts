import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { expect, test } from "vitest";
import type { BillPages } from "../src/export/exported-bill.ts";
import { toParquet } from "../src/export/parquet.ts";
import { anExportedBill } from "./support/bills.ts";

/** The chunks of a file of this many bills, which arrive in pages as they do from the database. */
async function pieces(bills: number, pageBills = 5_000): Promise<readonly Uint8Array[]> {
  const pages = async function* (): BillPages {
    for (let at = 0; at < bills; at += pageBills) {
      const length = Math.min(pageBills, bills - at);
      yield Array.from({ length }, (_, index) => anExportedBill({ billId: String(at + index) }));
    }
  };
  const chunks = await Array.fromAsync(toParquet(pages()));
  return chunks.map((chunk) => Buffer.from(chunk));
}

const fileOf = (chunks: readonly Uint8Array[]): ArrayBuffer =>
  Uint8Array.from(Buffer.concat(chunks)).buffer;

test("a file is written a group of 20,000 bills at a time, and none is held back", async () => {
  const chunks = await pieces(45_000);
  expect(chunks).toHaveLength(3);
  const file = fileOf(chunks);
  const { row_groups, num_rows } = parquetMetadata(file);
  expect(num_rows).toBe(45_000n);
  expect(row_groups.map((group) => group.num_rows)).toEqual([20_000n, 20_000n, 5_000n]);
  const rows = await parquetReadObjects({ file, columns: ["bill_id"] });
  expect(rows.map((row) => row["bill_id"])).toEqual(
    Array.from({ length: 45_000 }, (_, index) => String(index)),
  );
});

test.each([0, 1, 20_000])("a file of %d bills can be read", async (bills) => {
  const file = fileOf(await pieces(bills));
  expect(parquetMetadata(file).num_rows).toBe(BigInt(bills));
  expect(await parquetReadObjects({ file, columns: ["bill_id"] })).toHaveLength(bills);
});
