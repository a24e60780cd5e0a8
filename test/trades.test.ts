import fc from "fast-check";
import { expect, test } from "vitest";
import type { ExportedBill } from "../src/books/export/exported-bill.ts";
import { tradesOf, wholeTrades } from "../src/books/export/koinly.ts";
import { bookedMaxMs, epochMs } from "../src/lib/time.ts";
import { anExportedBill } from "./support/bills.ts";

type Happening = {
  readonly isTrade: boolean;
  readonly gapMs: number;
  /** How long after its time each bill is booked. */
  readonly lateMs: readonly number[];
};

/** The bills of trades and of funding, in the order in which they were booked. */
function booked(account: string, happenings: readonly Happening[]): readonly ExportedBill[] {
  let time = 1_700_000_000_000;
  const bills = happenings.flatMap(({ isTrade, gapMs, lateMs }, index) => {
    time += gapMs;
    const sold = { coin: "BTC", walletAmount: "-1" };
    const sides = isTrade ? [sold, { coin: "USDT", walletAmount: "2" }] : [sold];
    return sides.map((side, place) => ({
      at: time + (lateMs[place] ?? 0),
      bill: anExportedBill({
        ...{ account, productType: "UTA-SPOT", cTime: epochMs(time), ...side },
        ...{ billId: `${10_000 + 2 * index + place}`, category: isTrade ? "spot" : "funding" },
      }),
    }));
  });
  return bills.toSorted((a, b) => a.at - b.at).map(({ bill }) => bill);
}

async function* paged(bills: readonly ExportedBill[], pageBills: number) {
  for (let at = 0; at < bills.length; at += pageBills) yield bills.slice(at, at + pageBills);
}

test("a trade's two bills are on one page, whatever was booked between them, and bills keep their order", async () => {
  const late = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: bookedMaxMs }));
  const happening = fc.record({
    isTrade: fc.boolean(),
    gapMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 2 * bookedMaxMs })),
    lateMs: fc.tuple(late, late),
  });
  const happenings = fc.array(happening, { maxLength: 25 });
  await fc.assert(
    fc.asyncProperty(
      happenings,
      happenings,
      fc.integer({ min: 1, max: 8 }),
      async (first, second, pageBills) => {
        const bills = [...booked("a", first), ...booked("b", second)];
        const pages = await Array.fromAsync(wholeTrades(paged(bills, pageBills)));
        expect(pages.flat()).toEqual(bills);
        const idsOf = (some: readonly ExportedBill[]) =>
          tradesOf(some).map(({ sent, received }) => `${sent.billId} ${received.billId}`);
        expect(pages.flatMap(idsOf).toSorted()).toEqual(idsOf(bills).toSorted());
      },
    ),
    { numRuns: 100 },
  );
});
