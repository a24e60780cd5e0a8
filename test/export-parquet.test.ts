import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { expect, test } from "vitest";
import type { BillPages } from "../src/books/export/exported-bill.ts";
import { toParquet } from "../src/books/export/parquet.ts";
import { anExportedBill } from "./support/bills.ts";

test.each([
  [45_000, [20_000n, 20_000n, 5_000n]],
  [0, []],
  [20_000, [20_000n]],
])(
  "a file of %d bills is written a group at a time, none held back, and can be read",
  async (bills, groups) => {
    // Pages as they come from the database.
    const pages = async function* (): BillPages {
      for (let at = 0; at < bills; at += 5_000)
        yield Array.from({ length: 5_000 }, (_, index) =>
          anExportedBill({ billId: `${at + index}` }),
        );
    };
    const chunks = await Array.fromAsync(toParquet(pages()));
    const file = Uint8Array.from(Buffer.concat(chunks.map((chunk) => Buffer.from(chunk)))).buffer;
    const { row_groups, num_rows } = parquetMetadata(file);
    expect(num_rows).toBe(BigInt(bills));
    expect(row_groups.map((group) => group.num_rows)).toEqual(groups);
    expect(chunks).toHaveLength(Math.floor(bills / 20_000) + 1);
    const rows = await parquetReadObjects({ file, columns: ["bill_id"] });
    expect(rows).toEqual(Array.from({ length: bills }, (_, index) => ({ bill_id: `${index}` })));
  },
);
