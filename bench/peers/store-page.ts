import { Pool } from "pg";
import { classicProductTypes } from "../../src/contract/product-types.ts";
import { epochMs } from "../../src/contract/time.ts";
import { windowsAt } from "../backfill/ledger.ts";

/** A bill as a short script would store it: some fields as columns, and the rest as JSON. */
export type Row = {
  readonly id: string;
  readonly time: number;
  readonly amount: string;
  readonly fee: string;
  readonly raw: unknown;
};

/**
 * One page of a window.
 * @returns where the next page begins; undefined after a short page.
 */
export type ReadPage = (
  window: { readonly productType: string; readonly from: number; readonly to: number },
  idLessThan: string | undefined,
) => Promise<{ readonly rows: readonly Row[]; readonly next: string | undefined }>;

/**
 * What a user would write to store the bills of a client in Postgres: one window after the other,
 * page by page until one is short, and one insert statement for each page.
 */
export async function loopByHand(readPage: ReadPage): Promise<void> {
  const pool = new Pool({ connectionString: process.env["DATABASE_URL"] });
  await pool.query(`
    create table by_hand (
      id text, product_type text, time timestamptz, amount numeric, fee numeric, raw jsonb,
      primary key (product_type, id)
    )`);
  for (const productType of classicProductTypes) {
    for (const { from, to } of windowsAt(epochMs(Date.now()))) {
      let cursor: string | undefined;
      do {
        const { rows, next } = await readPage({ productType, from, to }, cursor);
        if (rows.length > 0) await insert(pool, productType, rows);
        cursor = next;
      } while (cursor !== undefined);
    }
  }
  await pool.end();
}

async function insert(pool: Pool, productType: string, rows: readonly Row[]): Promise<void> {
  const places = rows.map((_, row) => `(${[1, 2, 3, 4, 5, 6].map((n) => `$${row * 6 + n}`)})`);
  await pool.query(
    `insert into by_hand values ${places} on conflict do nothing`,
    rows.flatMap(({ id, time, amount, fee, raw }) => [
      id,
      productType,
      new Date(time),
      amount,
      fee,
      JSON.stringify(raw),
    ]),
  );
}
