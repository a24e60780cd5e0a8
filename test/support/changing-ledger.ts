import type { Bill } from "../../src/core/contract/bill.ts";
import { type ProductType, unifiedProductTypes } from "../../src/core/contract/product-types.ts";
import type { Transaction } from "../../src/core/postgres/connect.ts";
import { upsertBills } from "../../src/core/store/store-bills.ts";
import { epochMs, hourMs, secondMs } from "../../src/lib/time.ts";
import { integer, pick, type Random, seededRandom } from "../../src/wings/sandbox/random.ts";
import { smallLedger, smallLedgerStart } from "./small-ledger.ts";
import { coverLedger, ledgerOf } from "./stored-ledger.ts";
import { unifiedLedger, unifiedStart } from "./unified-ledger.ts";

type LedgerBill = Bill & { readonly productType: ProductType };

/** An account's ledger that is stored bit by bit, with whatever may happen to it meanwhile. */
export type ChangingLedger = {
  readonly account: string;
  /** In the order of their times. */
  readonly bills: readonly LedgerBill[];
  /** How many of them were served so far. */
  served: number;
  readonly stored: LedgerBill[];
  /** Served, and not stored yet. */
  late: LedgerBill[];
  /** Up to when each ledger is covered. */
  readonly coveredTo: Map<ProductType, number>;
  /** Time before that, which was not read. */
  unread: { readonly productType: ProductType; readonly from: number; readonly to: number }[];
};

/** A unified account, or a classic one with three chains, of which one soon gets no more bills. */
export function changingLedger(account: string, kind: "classic" | "unified"): ChangingLedger {
  const random = seededRandom(account);
  const bills = kind === "unified" ? unifiedLedger(random, { areSomeLate: true }) : classic(random);
  const start = kind === "unified" ? unifiedStart : smallLedgerStart;
  // No balance of a unified account is judged before all of its product types are read.
  const productTypes =
    kind === "unified" ? unifiedProductTypes : bills.map(({ productType }) => productType);
  return {
    account,
    bills: bills.toSorted((a, b) => a.cTime - b.cTime),
    served: 0,
    stored: [],
    late: [],
    coveredTo: new Map(productTypes.map((productType) => [productType, start])),
    unread: [],
  };
}

function classic(random: Random): readonly LedgerBill[] {
  const chain = (productType: ProductType, coin: string) =>
    smallLedger(random, { missingPercent: pick(random, [1, 10]) }).map((bill) => ({
      ...bill,
      productType,
      coin,
    }));
  return [
    ...chain("USDT-FUTURES", "USDT"),
    ...chain("COIN-FUTURES", "BTC"),
    ...chain("COIN-FUTURES", "ETH").slice(0, 25),
  ];
}

/** Stores the next bills but for some, of which some come later, and covers their time. */
export async function goOn(
  tx: Transaction,
  ledger: ChangingLedger,
  random: Random,
  most: number,
): Promise<void> {
  const next = ledger.bills.slice(ledger.served, ledger.served + integer(random, 0, most));
  ledger.served += next.length;
  const lost = next.filter(() => random() < 0.008);
  ledger.late.push(...lost.filter(() => random() < 0.7));
  await store(
    tx,
    ledger,
    next.filter((bill) => !lost.includes(bill)),
  );
  const newest = next.at(-1)?.cTime;
  if (newest === undefined) return;
  for (const [productType, coveredTo] of ledger.coveredTo) {
    const to = newest - pick(random, [-secondMs, 30 * secondMs, 3 * hourMs, 20 * hourMs]);
    if (to <= coveredTo) continue;
    ledger.coveredTo.set(productType, to);
    if (random() < 0.1) ledger.unread.push({ productType, from: coveredTo, to });
    else await coverLedger(tx, { account: ledger.account, productType }, coveredTo, to);
  }
}

/** Stores some of the late bills. */
export async function comeLate(
  tx: Transaction,
  ledger: ChangingLedger,
  random: Random,
): Promise<void> {
  const come = ledger.late.filter(() => random() < 0.4);
  ledger.late = ledger.late.filter((bill) => !come.includes(bill));
  await store(tx, ledger, come);
}

/** Reads time that was not read. */
export async function readUnread(tx: Transaction, ledger: ChangingLedger): Promise<void> {
  const [span, ...others] = ledger.unread;
  if (span === undefined) return;
  ledger.unread = others;
  await coverLedger(tx, ledgerOf(ledger.account, span.productType), span.from, span.to);
}

/** Restates a bill, or takes back its restatements. */
export async function restate(
  tx: Transaction,
  ledger: ChangingLedger,
  random: Random,
): Promise<void> {
  if (ledger.stored.length === 0) return;
  const bill = pick(random, ledger.stored);
  const changes: readonly Partial<Bill>[] = [
    {},
    {},
    { amount: "7" },
    { symbol: "ETHUSDT" },
    { balance: null },
    { balance: "1" },
    { coin: "ETH" },
    { cTime: epochMs(bill.cTime + integer(random, -40, 40) * secondMs) },
    { cTime: epochMs(bill.cTime + integer(random, -30, 30) * hourMs) },
    { businessType: "settle_interest" },
  ];
  await store(tx, ledger, [{ ...bill, ...pick(random, changes) }], false);
}

async function store(
  tx: Transaction,
  ledger: ChangingLedger,
  bills: readonly LedgerBill[],
  isNew = true,
): Promise<void> {
  const ledgers = Map.groupBy(bills, ({ productType }) => productType);
  for (const [productType, own] of ledgers) {
    const plain = own.map(({ productType: _, ...bill }) => bill);
    await upsertBills(tx, [{ ledger: { account: ledger.account, productType }, bills: plain }]);
  }
  if (isNew) ledger.stored.push(...bills);
}
