import fc from "fast-check";
import { expect, test } from "vitest";
import type { ExportedBill } from "../src/books/export/exported-bill.ts";
import { tradesOf, wholeTrades } from "../src/books/export/koinly.ts";
import { epochMs } from "../src/lib/time.ts";
import { anExportedBill } from "./support/bills.ts";

/** The bills of trades and of funding, each so long after the one before. */
function booked(account: string, happenings: readonly (readonly [isTrade: boolean, ms: number])[]) {
  let time = 1_700_000_000_000;
  return happenings.flatMap(([isTrade, ms], index) => {
    time += ms;
    const sold = { coin: "BTC", walletAmount: "-1" };
    const sides = isTrade ? [sold, { coin: "USDT", walletAmount: "2" }] : [sold];
    return sides.map((side, place) =>
      anExportedBill({
        ...{ account, productType: "UTA-SPOT", cTime: epochMs(time), ...side },
        ...{ billId: `${10_000 + 2 * index + place}`, category: isTrade ? "spot" : "funding" },
      }),
    );
  });
}

async function* paged(bills: readonly ExportedBill[], pageBills: number) {
  for (let at = 0; at < bills.length; at += pageBills) yield bills.slice(at, at + pageBills);
}

test("a trade's two bills are on one page, and bills keep their order", async () => {
  const happenings = fc.array(fc.tuple(fc.boolean(), fc.nat({ max: 2 })), { maxLength: 25 });
  const pageLength = fc.integer({ min: 1, max: 8 });
  await fc.assert(
    fc.asyncProperty(happenings, happenings, pageLength, async (first, second, pageBills) => {
      const bills = [...booked("a", first), ...booked("b", second)];
      const pages = await Array.fromAsync(wholeTrades(paged(bills, pageBills)));
      expect(pages.flat()).toEqual(bills);
      const idsOf = (some: readonly ExportedBill[]) =>
        tradesOf(some).map(({ sent, received }) => `${sent.billId} ${received.billId}`);
      expect(pages.flatMap(idsOf).toSorted()).toEqual(idsOf(bills).toSorted());
    }),
    { numRuns: 100 },
  );
});
