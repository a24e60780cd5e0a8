import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { dayMs, epochMs, isoTime } from "../src/contract/time.ts";
import { openDatabase } from "../src/db/connect.ts";
import type { LedgerBill } from "../src/sandbox/ledger-bill.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { environmentFor, runCli } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";

const productType = "USDT-FUTURES";

/** A bill that the exchange finds by the time of its booking, and that has a time of ten days before. */
function booked(bill: LedgerBill): LedgerBill {
  const cTime = String(bill.cTime - 10 * dayMs);
  return { ...bill, row: { ...(bill.row as object), cTime } };
}

test("bills that were booked ten days late are stored beside the others, and named; verify finds nothing amiss", async () => {
  const isLate = (place: number) => place === 200 || place === 230;
  await using sandbox = await openSandbox({
    seed: "late",
    density: 0.1,
    productTypes: [productType],
    alterLedger: (ledger) => ({
      ...ledger,
      bills: {
        ...ledger.bills,
        [productType]: ledger.bills[productType].map((bill, place) =>
          isLate(place) ? booked(bill) : bill,
        ),
      },
    }),
  });
  await using database = await testDatabase();
  await using connected = openDatabase(database.url);
  const env = environmentFor(sandbox, database, { PRODUCT_TYPES: productType });
  const late = sandbox.account.ledger.bills[productType].filter((_, place) => isLate(place));
  const first = await runCli(["sync", "--only", "bills", "--no-reconcile"], { env });
  expect(first.code, first.stdout).toBe(0);
  const { rows } = await connected.db.execute<{ bill_id: string; at: string }>(sql`
    select bill_id, to_char(c_time at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at
    from bills
    where bill_id in (${late[0]?.billId}, ${late[1]?.billId})
    order by bill_id`);
  expect(rows).toEqual(
    late.map(({ billId, cTime }) => ({
      bill_id: billId,
      at: isoTime(epochMs(cTime - 10 * dayMs)),
    })),
  );
  for (const { billId } of late) expect(first.stderr).toContain(`bill ${billId} of `);
  const days = (ago: number) => isoTime(epochMs(Date.now() - ago * dayMs));
  const span = ["--from", days(80), "--to", days(0.5)];
  const verified = await runCli(["verify", ...span], { env });
  expect(verified.code, verified.stdout).toBe(0);
  await connected.db.execute(sql`delete from bills where bill_id = ${late[0]?.billId}`);
  const missing = await runCli(["verify", ...span], { env });
  expect(missing.code).toBe(1);
  expect(missing.stdout).toContain(late[0]?.billId);
});
